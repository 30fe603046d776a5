/* Two threads count in one variable without a lock: what they count may be lost, and no order of theirs is given. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static int counter;
static int rounds;

static void *count(void *argument)
{
    (void)argument;
    for (int i = 0; i < rounds; i++)
        counter++;
    return NULL;
}

int main(int argc, char **argv)
{
    rounds = argc > 1 ? atoi(argv[1]) : 10;
    pthread_t a, b;
    if (pthread_create(&a, NULL, count, NULL) != 0 || pthread_create(&b, NULL, count, NULL) != 0)
        return 1;
    pthread_join(a, NULL);
    pthread_join(b, NULL);
    printf("counter: %d\n", counter);
    return 0;
}
