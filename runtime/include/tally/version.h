/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The version of these headers, for the preprocessor. tally_version() returns the version of the
 * library that the program runs with.
 */
#ifndef TALLY_VERSION_H
#define TALLY_VERSION_H

#define TALLY_VERSION_MAJOR 0
#define TALLY_VERSION_MINOR 1
#define TALLY_VERSION_PATCH 0
#define TALLY_VERSION "0.1.0"

#endif
