/*
 * Facts of the machine that a launch needs and that change no bit of a result: how many CPUs the
 * process may use and how large its last cache is.
 */
#include "cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

/* Half of the last cache, and never more than this, which is also what holds where the kernel tells
 * no size: half of the 32 MiB of L3 of the Zen machines that docs/results/ knows, from where on
 * non-temporal stores paid there. A larger cache is shared with cores that this machine may not even
 * show: Emerald Rapids tells of 300 MiB to a guest of two CPUs, where f32 copies of 8, 16, 64 and
 * 128 MiB, read and written, took 1.17, 1.18, 1.83 and 1.58 times as long by the cache as past it.
 */
#define MOST_STREAM_BYTES (INT64_C(16) << 20)

static _Atomic int64_t stream_bytes; /* 0: not found yet */

int32_t tly_cpu_count(void)
{
    /* A mask shorter than the kernel's is refused with EINVAL: try longer ones. */
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL) {
            break;
        }
        size_t bytes = CPU_ALLOC_SIZE(cpus);
        int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
        CPU_FREE(set);
        if (count > 0) {
            return count;
        }
    }
    return 1;
}

/* sysfs and not sysconf: on AMD the latter gives the sum over all core complexes. 0 if it does not
 * say, -1 if it could not be asked. */
static int64_t last_cache(void)
{
    for (int index = 4; index >= 2; index--) {
        char path[64];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "re");
        if (file == NULL && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
            return -1;
        }
        if (file == NULL) {
            continue;
        }
        long long size = 0;
        char suffix = 0;
        int fields = fscanf(file, "%lld%c", &size, &suffix);
        fclose(file);
        if (fields >= 1 && size > 0 && size < INT64_C(1) << 30) {
            return suffix == 'K' ? size << 10 : suffix == 'M' ? size << 20 : size;
        }
    }
    return 0;
}

int64_t tly_stream_bytes(void)
{
    int64_t known = atomic_load_explicit(&stream_bytes, memory_order_relaxed);
    if (known > 0) {
        return known;
    }
    int64_t cache = last_cache();
    known = cache > 0 && cache / 2 < MOST_STREAM_BYTES ? cache / 2 : MOST_STREAM_BYTES;
    if (cache >= 0) {
        atomic_store_explicit(&stream_bytes, known, memory_order_relaxed);
    }
    return known;
}
