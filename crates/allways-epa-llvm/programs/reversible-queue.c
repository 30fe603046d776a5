/* Two producers push to one queue under a lock. Nothing is lost, and no access is without the lock; but which of them comes first is
 * nowhere said: the order of what is in the queue can be reversed. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PRODUCERS 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int *queue;
static int length;
static int each;

static void *produce(void *argument)
{
    int first = *(int *)argument;
    for (int i = 0; i < each; i++) {
        pthread_mutex_lock(&lock);
        queue[length++] = first + i;
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    each = argc > 1 ? atoi(argv[1]) : 4;
    if (each < 1)
        return 1;
    queue = malloc(PRODUCERS * each * sizeof *queue);
    if (queue == NULL)
        return 1;
    int first[PRODUCERS] = { 100, 200 };
    pthread_t producers[PRODUCERS];
    for (int i = 0; i < PRODUCERS; i++)
        if (pthread_create(&producers[i], NULL, produce, &first[i]) != 0)
            return 1;
    for (int i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i], NULL);
    int sum = 0;
    for (int i = 0; i < length; i++)
        sum += queue[i];
    printf("length: %d, sum: %d\n", length, sum);
    free(queue);
    return 0;
}
