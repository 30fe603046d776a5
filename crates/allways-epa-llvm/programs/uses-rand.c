/* A program whose results are not the same each time, although it has no threads beside one: it draws numbers that begin with
 * the time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int drawn[8];

static void *draw(void *argument)
{
    (void)argument;
    for (int i = 0; i < 8; i++)
        drawn[i] = rand() % 1000;
    return NULL;
}

int main(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    srand((unsigned)now.tv_nsec ^ (unsigned)getpid());
    pthread_t thread;
    if (pthread_create(&thread, NULL, draw, NULL) != 0)
        return 1;
    pthread_join(thread, NULL);
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += drawn[i];
    printf("sum: %d\n", sum);
    return 0;
}
