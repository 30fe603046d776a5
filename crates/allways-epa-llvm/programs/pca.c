/* The first steps of a principal component analysis: the mean of each row of a matrix, and the covariance of each pair of
 * rows. Threads have rows of their own; those for the covariance begin when all means are there.
 * Arguments: how many threads, how many rows and columns. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct share {
    int from;
    int to;
};

static int size;
static int *matrix;
static double *means;
static double *covariances;

static void *find_means(void *argument)
{
    struct share *share = argument;
    for (int row = share->from; row < share->to; row++) {
        double sum = 0;
        for (int column = 0; column < size; column++)
            sum += matrix[row * size + column];
        means[row] = sum / size;
    }
    return NULL;
}

static void *find_covariances(void *argument)
{
    struct share *share = argument;
    for (int row = share->from; row < share->to; row++)
        for (int other = row; other < size; other++) {
            double sum = 0;
            for (int column = 0; column < size; column++)
                sum += (matrix[row * size + column] - means[row])
                    * (matrix[other * size + column] - means[other]);
            covariances[row * size + other] = sum / (size - 1);
        }
    return NULL;
}

static void in_parallel(int threads, void *(*work)(void *))
{
    pthread_t *handles = malloc(threads * sizeof *handles);
    struct share *shares = malloc(threads * sizeof *shares);
    if (handles == NULL || shares == NULL)
        exit(1);
    for (int i = 0; i < threads; i++) {
        shares[i].from = size * i / threads;
        shares[i].to = size * (i + 1) / threads;
        if (pthread_create(&handles[i], NULL, work, &shares[i]) != 0)
            exit(1);
    }
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    free(shares);
    free(handles);
}

/* What was found, a line at a time: written as a file is. */
static char line[128];

static void print(int length)
{
    if (length > 0)
        fwrite(line, 1, length, stdout);
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 8;
    size = argc > 2 ? atoi(argv[2]) : 15;
    if (threads < 1 || size < 2)
        return 1;
    matrix = calloc(size * size, sizeof *matrix);
    means = calloc(size, sizeof *means);
    covariances = calloc(size * size, sizeof *covariances);
    if (matrix == NULL || means == NULL || covariances == NULL)
        return 1;
    unsigned seed = 7;
    for (int i = 0; i < size * size; i++) {
        seed = seed * 1664525u + 1013904223u;
        matrix[i] = (seed >> 16) % 100;
    }
    in_parallel(threads, find_means);
    in_parallel(threads, find_covariances);
    double trace = 0, all = 0;
    for (int row = 0; row < size; row++) {
        trace += covariances[row * size + row];
        for (int other = row; other < size; other++)
            all += covariances[row * size + other];
    }
    print(snprintf(line, sizeof line, "mean of the first row: %.6f, trace: %.6f, all: %.6f\n", means[0], trace, all));
    free(covariances);
    free(means);
    free(matrix);
    return 0;
}
