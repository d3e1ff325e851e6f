/*
 * W^X loading of generated code: an anonymous mapping is filled while writable, then made
 * executable and read-only for good. Page alignment of the start keeps the alignment that the
 * blob's constants have relative to its first byte.
 */
#include "load.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "error.h"

_Static_assert(sizeof(tly_entry) == sizeof(void *), "code and data pointers are alike");

tally_status tly_code_load(const unsigned char *blob, size_t bytes, tly_code *code,
                           tally_error *error)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (bytes == 0 || bytes > SIZE_MAX - page) {
        return tly_fail(error, TALLY_INTERNAL, "memory", "%zu bytes of code cannot be loaded",
                        bytes);
    }
    const size_t mapped = (bytes + page - 1) / page * page;
    void *base = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) {
        return tly_out_of_memory(error, "code", mapped);
    }
    memcpy(base, blob, bytes);
    if (mprotect(base, mapped, PROT_READ | PROT_EXEC) != 0) {
        const int reason = errno;
        munmap(base, mapped);
        if (reason == ENOMEM) {
            return tly_out_of_memory(error, "code", mapped);
        }
        tally_status status = tly_fail(error, TALLY_UNSUPPORTED, "memory",
                                       "the system refuses executable memory (errno %d)", reason);
        tly_error_hint(error, "a security policy of this process may forbid generated code");
        return status;
    }
    __builtin___clear_cache((char *)base, (char *)base + bytes);
    memcpy(&code->entry, &base, sizeof base);
    code->bytes = mapped;
    return TALLY_OK;
}

void tly_code_unload(tly_code *code)
{
    if (code->entry == NULL) {
        return;
    }
    void *base;
    memcpy(&base, &code->entry, sizeof base);
    munmap(base, code->bytes);
    *code = (tly_code){ 0 };
}
