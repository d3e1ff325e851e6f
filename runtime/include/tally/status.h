/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call reports: a status for programs, and one message for people. And what holds for every
 * call of Tally:
 *
 * A call that fails leaves all that it would have written as it was, but for *error: handles,
 * descriptors, counts, texts and tensors. There are two exceptions: what tally_inspect has handed
 * to `write` by then; and on Vulkan, where work had begun before TALLY_DEVICE_LOST or
 * TALLY_OUT_OF_MEMORY, the tensor, buffer or command buffer that was being written.
 *
 * Structs, strings and arrays are borrowed until the call returns: Tally copies what it keeps. What
 * must live longer are things that only the caller can own: functions and their `user` pointers
 * until the context ends, Vulkan's objects as long as tally/vulkan.h says.
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

/** Result of every fallible call. Zero is success, errors are negative. */
typedef enum tally_status {
    TALLY_OK = 0,
    TALLY_INVALID = -1,       /**< an argument, word or descriptor breaks a rule */
    TALLY_UNSUPPORTED = -2,   /**< valid, but no kernel exists for it on this target */
    TALLY_OUT_OF_MEMORY = -3, /**< see docs/memory.md for what ends the process instead */
    TALLY_DEVICE_LOST = -4,
    TALLY_IO = -5,           /**< a file could not be read or written */
    TALLY_NO_GENERATOR = -6, /**< a kernel had to be generated and the generator is missing */
    TALLY_BUSY = -7,         /**< in a forked child whose parent had a call in flight */
    TALLY_INTERNAL = -8,     /**< a fault of Tally itself; please report the message */
    TALLY_TIMEOUT = -9       /**< a wait reached its time limit; what was waited for goes on */
} tally_status;

/**
 * Why a call failed. The caller sets `size` to sizeof(tally_error) (TALLY_ERROR_INIT does) and
 * passes it, or NULL where the text is not wanted. Written only on failure. The strings are
 * always terminated; they name the field, the value and the rule. They are UTF-8 that a terminal only
 * shows: other bytes of what they quote, such as control characters of a file's name, are \xNN.
 */
typedef struct tally_error {
    size_t size;
    int32_t status;    /**< the tally_status that was returned */
    int32_t position;  /**< character in the word, from 1; 0 where that has no meaning */
    char field[16];    /**< a name of the word's grammar (op, dtype, sizes, axis, in, ...); or
                              device, memory, plan, file, usage; in faults of Tally itself also
                              code, kir, spirv */
    char message[232]; /**< one sentence without a final stop */
    char hint[120];    /**< what to do about it; may be empty */
} tally_error;

#define TALLY_ERROR_INIT { sizeof(tally_error), 0, 0, { 0 }, { 0 }, { 0 } }

/** The status's name, such as "TALLY_INVALID"; never NULL. Thread-safe. */
TALLY_API const char *tally_status_name(tally_status status);

/** Tally's version, such as "0.1.0"; never NULL. Thread-safe. */
TALLY_API const char *tally_version(void);

#ifdef __cplusplus
}
#endif
#endif
