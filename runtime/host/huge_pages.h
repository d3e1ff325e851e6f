/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Huge pages for new results. The allocators of torch and JAX, and malloc, hand large memory out in
 * pages of 4 KiB, which the system provides as the kernel first writes to each. That takes longer
 * than the kernel. numpy asks for huge pages itself, and ONNX Runtime uses its memory again.
 *
 * Rows of 1024 f32, summed by tally.torch into memory that was never written to (Zen 5, 1 thread):
 *
 *   MiB of the result    1    2    3    4    6    8    16    32    64
 *   ms, as it comes    .35  .70 1.04 1.39 2.12 2.80  6.85 13.67 27.23
 *   ms, huge pages     .36  .69 1.04  .77  .86  .97  1.86  3.40  6.34
 */
#ifndef TLY_HUGE_PAGES_H
#define TLY_HUGE_PAGES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/* Two huge pages of x86-64: so many bytes have a whole one in them wherever they begin. */
#define TLY_HUGE_PAGES_LEAST ((size_t)4 << 20)

/* Advises the pages that lie wholly in memory of so many bytes, which nothing was written to yet.
 * Nothing depends on its success. */
static inline void tly_huge_pages(void *data, size_t bytes)
{
#ifdef MADV_HUGEPAGE
    if (bytes >= TLY_HUGE_PAGES_LEAST) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE);
        const size_t skipped = -(uintptr_t)data & (page - 1);
        (void)madvise((char *)data + skipped, (bytes - skipped) & ~(page - 1), MADV_HUGEPAGE);
    }
#else
    (void)data;
    (void)bytes;
#endif
}

#endif
