/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of the machine that a launch needs and that change no bit of a result: how many CPUs the
 * process may use and how large its last cache is.
 */
#include "cpu.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>

/* Half of a 32 MiB L3, where the kernel tells no size. AMD's machines of docs/performance.md have
 * such an L3, and non-temporal stores paid from there on. */
#define STREAM_BYTES_FALLBACK (INT64_C(16) << 20)

#define NEAR_CACHE (INT64_C(96) << 20)

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

/* A cache of this level or the nearest one above it. sysfs and not sysconf: on AMD the latter gives
 * the sum over all core complexes. 0 if it does not say, -1 if it could not be asked. */
static int64_t cache_bytes(int level)
{
    for (int index = level; index >= 2; index--) {
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

/* Half of the last cache, read and written. One that is larger than any core has near by (96
 * MiB, a stacked one) is that of a whole socket: strangers use it as well, it is as far away as
 * memory, and what counts is the core's own. f32 read and written on Emerald Rapids, 2 MiB of
 * L2, 300 MiB of L3, GB/s, plain and non-temporal copies: 2 MiB 39, 31; 2.5 MiB 36, 39; 4 MiB
 * 25, 34; 8 MiB 16, 30; 32 MiB 16, 29; 192 MiB 18, 25. */
static int64_t beyond(int64_t last, int64_t own)
{
    return last <= NEAR_CACHE ? last / 2 : own + own / 4;
}

int64_t tly_stream_bytes(void)
{
    int64_t known = atomic_load_explicit(&stream_bytes, memory_order_relaxed);
    if (known > 0) {
        return known;
    }
    int64_t last = cache_bytes(4), own = cache_bytes(2);
    known = last > 0 && own > 0 ? beyond(last, own) : STREAM_BYTES_FALLBACK;
    if (last >= 0 && own >= 0) {
        atomic_store_explicit(&stream_bytes, known, memory_order_relaxed);
    }
    return known;
}
