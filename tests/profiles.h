/* SPDX-License-Identifier: Apache-2.0 */
/* The profiles of a folder, for programs that make plans and kernels for devices that are not here.
 */
#ifndef TLY_TEST_PROFILES_H
#define TLY_TEST_PROFILES_H

#include "../runtime/problem/caps.h"

typedef struct tly_profile_file {
    char name[64]; /* without the folder */
    char *text;    /* to be freed */
    tly_caps caps;
} tly_profile_file;

/* Reads up to `most` files, by their names' order. Returns how many; 0: none, and says why. */
int tly_profiles_read(const char *folder, tly_profile_file *files, int most);

#endif
