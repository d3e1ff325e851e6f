/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arc4random of glibc 2.36, which Debian's LLVM archives ask for to name temporary files. A wheel
 * has its own, so that it runs on systems with an older glibc.
 */
#include <errno.h>
#include <stdint.h>
#include <sys/random.h>
#include <time.h>

uint32_t arc4random(void);

uint32_t arc4random(void)
{
    uint32_t number = (uint32_t)clock();
    while (getrandom(&number, sizeof number, 0) < 0 && errno == EINTR) {
    }
    return number;
}
