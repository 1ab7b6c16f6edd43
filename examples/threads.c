/* One device for all threads, one plan for each. */
#include <pthread.h>

#include "example.h"

enum { THREADS = 4, VALUES = 1000 };

typedef struct job {
    tally_device *device; /* shared */
    int32_t values[VALUES];
    int64_t sum;
} job;

static void *work(void *data) {
    job *j = data;
    tally_desc desc = TALLY_DESC_INIT;
    desc.in = TALLY_I32;
    tally_plan *plan;
    must(tally_plan_create(j->device, &desc, &plan));
    tally_args args = TALLY_ARGS_INIT;
    args.shape.extent = VALUES;
    args.x = j->values;
    args.out = &j->sum;
    args.out_bytes = sizeof j->sum;
    must(tally_run(plan, &args, TALLY_SYNCHRONOUS));
    tally_plan_destroy(plan);
    return NULL;
}

int main(void) {
    static job jobs[THREADS];
    pthread_t threads[THREADS];
    tally_device *device;
    must(tally_open("cpu:threads=2", &device));
    for (int t = 0; t < THREADS; t++) {
        jobs[t].device = device;
        for (int i = 0; i < VALUES; i++)
            jobs[t].values[i] = i * (t + 1);
        if (pthread_create(&threads[t], NULL, work, &jobs[t]) != 0)
            return 1;
    }
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        printf("thread %d: %lld\n", t, (long long)jobs[t].sum);
    tally_close(device);
    return 0;
}
