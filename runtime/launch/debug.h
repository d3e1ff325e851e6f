/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels as debuggers and profilers show them: by a name, made of the word. gdb asks through its
 * JIT interface for the ELF images of all code that is loaded, in a live process, one that it
 * attaches to, or a core dump; that costs so little that it is always there. perf reads a file of
 * its own, which is written where TALLY_PERF asks for it. Both need no generator: what comes from
 * disk or from a pack is shown, too.
 */
#ifndef TLY_DEBUG_H
#define TLY_DEBUG_H

#include "../host/log.h"
#include "load.h"

typedef struct tly_shown tly_shown;

/* `text` as a name of C: what is neither letter nor digit becomes '_'; cut to fit. */
void tly_identifier(const char *text, char *name, size_t capacity);

/* Shows loaded code of `bytes` under a name; NULL without memory: it is not shown to gdb. Within
 * the fork gate. */
tly_shown *tly_debug_show(const tly_code *code, size_t bytes, const char *name, const tly_log *log);

/* Before the code is unloaded; NULL is valid. */
void tly_debug_hide(tly_shown *shown);

#endif
