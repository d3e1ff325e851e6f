/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors: every call that can fail returns a status for programs, and can fill a message for
 * people.
 *
 * Two rules hold for every call of Tally.
 *
 * A call that fails leaves its outputs as they were: handles, descriptors, counts, texts and
 * tensors. It writes only *error. There are two exceptions:
 * - tally_inspect may have passed a part of its text to `write` before it fails.
 * - A call for a Vulkan device may return TALLY_DEVICE_LOST or TALLY_OUT_OF_MEMORY after its work
 *   has begun. Then it may have changed the tensor, buffer or command buffer that it was writing.
 *
 * A call borrows structs, strings and arrays until it returns. Tally copies what it needs for
 * longer. Two kinds of things must live longer, because only the caller can own them: functions and
 * their `user` pointers live until the context is destroyed; Vulkan's objects as long as
 * tally/vulkan.h says.
 */
#ifndef TALLY_STATUS_H
#define TALLY_STATUS_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TALLY_API __attribute__((visibility("default")))
#else
#define TALLY_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** The result of every call that can fail. Zero means success; errors are negative. */
typedef enum tally_status {
    TALLY_OK = 0,
    TALLY_INVALID = -1,     /**< an argument, word or descriptor breaks a rule */
    TALLY_UNSUPPORTED = -2, /**< the request is valid, but no kernel exists for it on this target */
    TALLY_OUT_OF_MEMORY = -3, /**< see docs/memory.md for the cases that end the process instead */
    TALLY_DEVICE_LOST = -4,   /**< the Vulkan device stopped working and cannot be used again */
    TALLY_IO = -5, /**< a file could not be read or written, or a callback returned non-zero */
    TALLY_NO_GENERATOR = -6, /**< a kernel must be generated, and the generator is missing */
    TALLY_BUSY = -7,         /**< this process was forked while its parent had a call in flight */
    TALLY_INTERNAL = -8,     /**< Tally itself has a fault; please report the message */
    TALLY_TIMEOUT = -9       /**< a wait reached its time limit; the work goes on */
} tally_status;

/**
 * The reason why a call failed. The caller sets `size` to sizeof(tally_error), as TALLY_ERROR_INIT
 * does, and passes a pointer, or NULL if the text is not needed. A call writes to it only on
 * failure.
 *
 * The message names the field, the value and the rule. All strings are terminated. They are UTF-8
 * that is safe to show on a terminal: if a text quotes other bytes, such as control characters of a
 * file's name, they are written as \xNN.
 */
typedef struct tally_error {
    size_t size;
    int32_t status;    /**< the tally_status that was returned */
    int32_t position;  /**< the character of the word, of an expression of a descriptor, or of
                            the kernel IR, from 1; 0: none */
    char field[16];    /**< which part is wrong: a name of the word's grammar (op, dtype, sizes,
                            axis, in, ...), or device, memory, plan, file or usage; if Tally itself
                            has a fault, also code, kir or spirv */
    char message[232]; /**< one sentence without a final stop */
    char hint[120];    /**< how to solve the problem; may be empty */
    char word[40];     /**< how a word says what the hint does, such as "i8>i64"; may be empty */
} tally_error;

#define TALLY_ERROR_INIT { sizeof(tally_error), 0, 0, { 0 }, { 0 }, { 0 }, { 0 } }

/** Returns the name of a status, such as "TALLY_INVALID", or "TALLY_?" if the value is no status.
 *  Never returns NULL. Thread-safe. */
TALLY_API const char *tally_status_name(tally_status status);

/** Returns the library's version, such as "0.1.0"; never NULL. Thread-safe. */
TALLY_API const char *tally_version(void);

#ifdef __cplusplus
}
#endif
#endif
