/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of Vulkan devices by file or by name. */
#ifndef TLY_PROFILE_TEXT_H
#define TLY_PROFILE_TEXT_H

#include "../common/tool.h"

enum { TLY_MOST_PROFILES = 64 };

/* The names of the profiles that lie with the command, sorted, and how many there are. Each is from
 * malloc. */
size_t tly_profile_names(char *names[TLY_MOST_PROFILES]);

/* The file that `name` means: that file if it is there, else the profile of this name that lies
 * with the command, else `name` again. From malloc, or NULL without memory. */
char *tly_profile_find(const char *name);

/* The text of the profile, from malloc. *text is to be freed whatever is returned. */
int tly_profile_load(const char *name, char **text, tly_report *report);

#endif
