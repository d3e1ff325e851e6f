/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of an archive's arrays, inflated where they are deflated; see npz.h. */
#include "npz.h"

#include <string.h>

#ifdef TALLY_ZLIB
#include <zlib.h>
#endif

static int damaged(const tly_npz_array *array, const char *why, tly_report *report)
{
    return tly_refuse(report, EXIT_FILE, "file", "%s: is damaged: %s", array->npz->name, why);
}

/* A member from its first byte on. */
typedef struct stream {
    const tly_npz_array *array;
    size_t given, taken; /* bytes of what is stored, and of what it is */
    uint32_t crc;
#ifdef TALLY_ZLIB
    z_stream z;
#endif
} stream;

#ifdef TALLY_ZLIB
enum { MOST_PIECE = 1 << 30 }; /* zlib counts in 32 bits */

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static int begin(stream *s, tly_report *report)
{
    s->crc = (uint32_t)crc32(0, NULL, 0);
    if (!s->array->deflated || inflateInit2(&s->z, -MAX_WBITS) == Z_OK) {
        return EXIT_DONE;
    }
    return tly_refuse(report, EXIT_MEMORY, "file", "%s: no memory to read it", s->array->npz->name);
}

static void end(stream *s)
{
    if (s->array->deflated) {
        inflateEnd(&s->z);
    }
}

/* Writes up to `bytes` bytes and returns how many; 0 at the stream's end, or where it is damaged.
 */
static size_t inflate_some(stream *s, unsigned char *to, size_t bytes)
{
    const uInt room = (uInt)least(bytes, MOST_PIECE);
    uInt piece;
    do {
        piece = (uInt)least(s->array->stored - s->given, MOST_PIECE);
        s->z.next_in = (unsigned char *)(uintptr_t)s->array->data + s->given;
        s->z.avail_in = piece;
        s->z.next_out = to;
        s->z.avail_out = room;
        inflate(&s->z, Z_NO_FLUSH); /* its status says no more than the bytes do */
        s->given += piece - s->z.avail_in;
    } while (s->z.avail_out == room && s->z.avail_in < piece);
    return room - s->z.avail_out;
}

static void add_crc(stream *s, const unsigned char *from, size_t bytes)
{
    while (bytes > 0) {
        const size_t piece = least(bytes, MOST_PIECE);
        s->crc = (uint32_t)crc32(s->crc, from, (uInt)piece);
        from += piece;
        bytes -= piece;
    }
}

static int is_whole(const stream *s)
{
    return s->crc == s->array->crc;
}
#else
static int begin(stream *s, tly_report *report)
{
    if (!s->array->deflated) {
        return EXIT_DONE;
    }
    tly_refuse(report, EXIT_UNSUPPORTED, "file", "%s: is deflated, and this tally has no zlib",
               s->array->npz->name);
    tly_hint(report, "numpy.savez writes archives that are not deflated");
    return EXIT_UNSUPPORTED;
}

static void end(stream *s)
{
    (void)s;
}

static size_t inflate_some(stream *s, unsigned char *to, size_t bytes)
{
    (void)s, (void)to, (void)bytes;
    return 0;
}

static void add_crc(stream *s, const unsigned char *from, size_t bytes)
{
    (void)s, (void)from, (void)bytes;
}

static int is_whole(const stream *s)
{
    (void)s;
    return 1;
}
#endif

/* Takes exactly `bytes` bytes (tly_npy_pull). */
static int pull(void *user, void *to, size_t bytes, tly_report *report)
{
    stream *s = user;
    unsigned char *at = to;
    for (size_t left = bytes; left > 0;) {
        size_t got;
        if (s->array->deflated) {
            got = inflate_some(s, at, left);
        } else {
            got = left <= s->array->stored - s->given ? left : 0;
            memcpy(at, s->array->data + s->given, got);
            s->given += got;
        }
        if (got == 0 || got > s->array->bytes - s->taken) {
            return damaged(s->array, "an array has other bytes than its list says", report);
        }
        add_crc(s, at, got);
        at += got;
        left -= got;
        s->taken += got;
        tly_progress_at(s->taken);
    }
    return EXIT_DONE;
}

int tly_npz_header(const tly_npz_array *array, tly_npy *npy, tly_report *report)
{
    stream s = { .array = array };
    int status = begin(&s, report);
    if (status) {
        return status;
    }
    status = tly_npy_read(pull, &s, array->npz->name, npy, report);
    if (!status && (uint64_t)npy->bytes != array->bytes - s.taken) {
        status = tly_refuse(report, EXIT_FILE, "file",
                            "%s: an array has %zu bytes of elements in place of %lld",
                            array->npz->name, array->bytes - s.taken, (long long)npy->bytes);
    }
    end(&s);
    return status;
}

int tly_npz_load(const tly_npz_array *array, const tly_npy *npy, void *to, tly_report *report)
{
    stream s = { .array = array };
    tly_npy again;
    int status = begin(&s, report);
    if (status) {
        return status;
    }
    status = tly_npy_read(pull, &s, array->npz->name, &again, report);
    if (!status) {
        status = pull(&s, to, (size_t)npy->bytes, report);
    }
    if (!status && !is_whole(&s)) {
        status = damaged(array, "an array is not what its checksum says", report);
    }
    end(&s);
    return status;
}
