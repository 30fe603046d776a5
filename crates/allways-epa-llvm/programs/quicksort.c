/* Parallel quicksort: of two parts, one is sorted by a new thread and the other by this one, as long as a part is
 * large and threads are left. Arguments: how many levels of threads, how many numbers. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct part {
    int *numbers;
    int count;
    int levels;
};

static void swap(int *a, int *b)
{
    int before = *a;
    *a = *b;
    *b = before;
}

static int partition(int *numbers, int count)
{
    int last = count - 1;
    swap(&numbers[count / 2], &numbers[last]);
    int pivot = numbers[last];
    int smaller = 0;
    for (int i = 0; i < last; i++)
        if (numbers[i] < pivot)
            swap(&numbers[i], &numbers[smaller++]);
    swap(&numbers[smaller], &numbers[last]);
    return smaller;
}

static void *sort(void *argument)
{
    struct part *part = argument;
    if (part->count < 2)
        return NULL;
    int middle = partition(part->numbers, part->count);
    struct part left = { part->numbers, middle, part->levels - 1 };
    struct part right = { part->numbers + middle + 1, part->count - middle - 1, part->levels - 1 };
    if (part->levels > 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, sort, &left) != 0)
            exit(1);
        sort(&right);
        pthread_join(thread, NULL);
    } else {
        sort(&left);
        sort(&right);
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
    int levels = argc > 1 ? atoi(argv[1]) : 4;
    int count = argc > 2 ? atoi(argv[2]) : 200;
    if (count < 1)
        return 1;
    int *numbers = malloc(count * sizeof *numbers);
    if (numbers == NULL)
        return 1;
    unsigned seed = 12345;
    for (int i = 0; i < count; i++) {
        seed = seed * 1103515245u + 12345u;
        numbers[i] = (seed >> 16) % 10000;
    }
    struct part all = { numbers, count, levels };
    sort(&all);
    int sorted = 1;
    long sum = 0;
    for (int i = 0; i < count; i++) {
        if (i > 0 && numbers[i - 1] > numbers[i])
            sorted = 0;
        sum += (long)numbers[i] * (i + 1);
    }
    print(snprintf(line, sizeof line, "sorted: %d, first: %d, last: %d, sum: %ld\n", sorted, numbers[0], numbers[count - 1], sum));
    free(numbers);
    return 0;
}
