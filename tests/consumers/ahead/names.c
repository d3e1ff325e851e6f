/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of lists that have dots in their names, one name, or lie elsewhere. */
#include "more.h"
#include "my.scans.h"
#include "my.sums.h"
#include "other/my.scans.h"

int main(void)
{
    const int32_t in[2] = { 3, 4 };
    int32_t out[2];
    return scan(in, out) || out[1] != 7 || sum(in, out) || out[0] != 7 || product(in, out) ||
           out[1] != 12 || most(in, out) || out[0] != 4;
}
