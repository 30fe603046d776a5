/* The prices of swaptions by Monte Carlo: paths of a short rate that returns to its mean, each swaption with a generator of
 * its own that begins with a fixed number, so the order of threads changes nothing. Threads have swaptions of their own.
 * Arguments: how many threads, how many swaptions, how many paths of each. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define STEPS 12

struct swaption {
    double strike;
    double years;
    unsigned long seed;
    double price;
    double error;
};

struct share {
    int from;
    int to;
};

static struct swaption *swaptions;
static int paths;

static double uniform(unsigned long *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (*state >> 11) * (1.0 / 9007199254740992.0);
}

/* About normal: the sum of some uniform numbers. */
static double normal(unsigned long *state)
{
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += uniform(state);
    return (sum - 3) * 1.4142135623730951;
}

static double path(const struct swaption *swaption, unsigned long *state)
{
    double rate = 0.03, paid = 0, discount = 1;
    double step = swaption->years / STEPS;
    for (int i = 0; i < STEPS; i++) {
        rate += 0.5 * (0.035 - rate) * step + 0.01 * sqrt(step) * normal(state);
        discount *= exp(-rate * step);
        paid += (rate - swaption->strike) * discount * step;
    }
    return paid > 0 ? paid : 0;
}

static void *work(void *argument)
{
    struct share *share = argument;
    for (int i = share->from; i < share->to; i++) {
        struct swaption *swaption = &swaptions[i];
        unsigned long state = swaption->seed;
        double sum = 0, squares = 0;
        for (int j = 0; j < paths; j++) {
            double value = path(swaption, &state);
            sum += value;
            squares += value * value;
        }
        swaption->price = sum / paths;
        swaption->error = sqrt((squares / paths - swaption->price * swaption->price) / paths);
    }
    return NULL;
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
    int threads = argc > 1 ? atoi(argv[1]) : 4;
    int count = argc > 2 ? atoi(argv[2]) : 8;
    paths = argc > 3 ? atoi(argv[3]) : 40;
    if (threads < 1 || count < 1 || paths < 1)
        return 1;
    swaptions = calloc(count, sizeof *swaptions);
    pthread_t *handles = calloc(threads, sizeof *handles);
    struct share *shares = calloc(threads, sizeof *shares);
    if (swaptions == NULL || handles == NULL || shares == NULL)
        return 1;
    for (int i = 0; i < count; i++) {
        swaptions[i].strike = 0.02 + i % 5 * 0.005;
        swaptions[i].years = 1 + i % 3;
        swaptions[i].seed = 88172645463325252ul + i;
    }
    for (int i = 0; i < threads; i++) {
        shares[i].from = count * i / threads;
        shares[i].to = count * (i + 1) / threads;
        if (pthread_create(&handles[i], NULL, work, &shares[i]) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    for (int i = 0; i < count; i++)
        print(snprintf(line, sizeof line, "swaption %d: %.8f %.8f\n", i, swaptions[i].price, swaptions[i].error));
    free(shares);
    free(handles);
    free(swaptions);
    return 0;
}
