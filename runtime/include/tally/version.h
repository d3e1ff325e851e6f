/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Tally this header is of, for the preprocessor; tally_version() is the library's own.
 */
#ifndef TALLY_VERSION_H
#define TALLY_VERSION_H

#define TALLY_VERSION_MAJOR 0
#define TALLY_VERSION_MINOR 1
#define TALLY_VERSION_PATCH 0
#define TALLY_VERSION "0.1.0"

#endif
