/* K-means: points belong to the nearest of some centres, and centres move to the middle of their points, until none changes.
 * In each round new threads find the centres of points of their own. Arguments: how many threads, how many points. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define DIMENSIONS 2
#define CENTRES 4
#define ROUNDS 8

struct share {
    int from;
    int to;
    int changed;
};

static int (*points)[DIMENSIONS];
static int *nearest;
static int centres[CENTRES][DIMENSIONS];

static long distance(const int *a, const int *b)
{
    long sum = 0;
    for (int i = 0; i < DIMENSIONS; i++)
        sum += (long)(a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

static void *assign(void *argument)
{
    struct share *share = argument;
    share->changed = 0;
    for (int i = share->from; i < share->to; i++) {
        int best = 0;
        long least = distance(points[i], centres[0]);
        for (int centre = 1; centre < CENTRES; centre++) {
            long now = distance(points[i], centres[centre]);
            if (now < least) {
                least = now;
                best = centre;
            }
        }
        if (nearest[i] != best) {
            nearest[i] = best;
            share->changed = 1;
        }
    }
    return NULL;
}

static void move_centres(int count)
{
    for (int centre = 0; centre < CENTRES; centre++) {
        int members = 0;
        int sums[DIMENSIONS] = { 0 };
        for (int i = 0; i < count; i++)
            if (nearest[i] == centre) {
                members++;
                for (int d = 0; d < DIMENSIONS; d++)
                    sums[d] += points[i][d];
            }
        if (members > 0)
            for (int d = 0; d < DIMENSIONS; d++)
                centres[centre][d] = sums[d] / members;
    }
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
    int count = argc > 2 ? atoi(argv[2]) : 28;
    if (threads < 1 || count < CENTRES)
        return 1;
    points = malloc(count * sizeof *points);
    nearest = malloc(count * sizeof *nearest);
    pthread_t *handles = malloc(threads * sizeof *handles);
    struct share *shares = malloc(threads * sizeof *shares);
    if (points == NULL || nearest == NULL || handles == NULL || shares == NULL)
        return 1;
    unsigned seed = 99;
    for (int i = 0; i < count; i++) {
        nearest[i] = -1;
        for (int d = 0; d < DIMENSIONS; d++) {
            seed = seed * 1664525u + 1013904223u;
            points[i][d] = (seed >> 16) % 1000;
        }
    }
    for (int centre = 0; centre < CENTRES; centre++)
        for (int d = 0; d < DIMENSIONS; d++)
            centres[centre][d] = points[centre][d];
    int rounds = 0, changed = 1;
    while (changed && rounds < ROUNDS) {
        rounds++;
        changed = 0;
        for (int i = 0; i < threads; i++) {
            shares[i].from = count * i / threads;
            shares[i].to = count * (i + 1) / threads;
            if (pthread_create(&handles[i], NULL, assign, &shares[i]) != 0)
                return 1;
        }
        for (int i = 0; i < threads; i++) {
            pthread_join(handles[i], NULL);
            changed |= shares[i].changed;
        }
        move_centres(count);
    }
    print(snprintf(line, sizeof line, "rounds: %d\n", rounds));
    for (int centre = 0; centre < CENTRES; centre++)
        print(snprintf(line, sizeof line, "centre %d: %d %d\n", centre, centres[centre][0], centres[centre][1]));
    free(shares);
    free(handles);
    free(nearest);
    free(points);
    return 0;
}
