/* The prices of European options by the formula of Black and Scholes. Threads have options of their own.
 * Arguments: how many threads, how many options. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct option {
    double spot;
    double strike;
    double rate;
    double volatility;
    double years;
    int is_put;
};

struct share {
    int from;
    int to;
};

static struct option *options;
static double *prices;

/* The normal distribution, by a polynomial (Abramowitz and Stegun, 26.2.17). */
static double normal(double x)
{
    static const double factors[5]
        = { 0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429 };
    double positive = x < 0 ? -x : x;
    double t = 1 / (1 + 0.2316419 * positive);
    double sum = 0;
    for (int i = 4; i >= 0; i--)
        sum = (sum + factors[i]) * t;
    double tail = exp(-positive * positive / 2) * 0.39894228040143270286 * sum;
    return x < 0 ? tail : 1 - tail;
}

static double price(const struct option *option)
{
    double root = option->volatility * sqrt(option->years);
    double drift = option->rate + option->volatility * option->volatility / 2;
    double d1 = (log(option->spot / option->strike) + drift * option->years) / root;
    double d2 = d1 - root;
    double later = option->strike * exp(-option->rate * option->years);
    if (option->is_put)
        return later * normal(-d2) - option->spot * normal(-d1);
    return option->spot * normal(d1) - later * normal(d2);
}

static void *work(void *argument)
{
    struct share *share = argument;
    for (int i = share->from; i < share->to; i++)
        prices[i] = price(&options[i]);
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
    int threads = argc > 1 ? atoi(argv[1]) : 3;
    int count = argc > 2 ? atoi(argv[2]) : 200;
    if (threads < 1 || count < 1)
        return 1;
    options = calloc(count, sizeof *options);
    prices = calloc(count, sizeof *prices);
    pthread_t *handles = calloc(threads, sizeof *handles);
    struct share *shares = calloc(threads, sizeof *shares);
    if (options == NULL || prices == NULL || handles == NULL || shares == NULL)
        return 1;
    unsigned seed = 2024;
    for (int i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        options[i].spot = 50 + (seed >> 16) % 100;
        options[i].strike = 60 + (seed >> 8) % 80;
        options[i].rate = 0.01 + (seed >> 20) % 5 * 0.01;
        options[i].volatility = 0.1 + (seed >> 12) % 6 * 0.1;
        options[i].years = 0.25 + (seed >> 24) % 4 * 0.25;
        options[i].is_put = seed >> 31;
    }
    for (int i = 0; i < threads; i++) {
        shares[i].from = count * i / threads;
        shares[i].to = count * (i + 1) / threads;
        if (pthread_create(&handles[i], NULL, work, &shares[i]) != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(handles[i], NULL);
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += prices[i];
    print(snprintf(line, sizeof line, "first: %.6f, last: %.6f, sum: %.6f\n", prices[0], prices[count - 1], sum));
    free(shares);
    free(handles);
    free(prices);
    free(options);
    return 0;
}
