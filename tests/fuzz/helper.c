/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replies of tally-maker and requests to it. Any bytes, taken as a reply, give a status, and with
 * TALLY_OK the kernel that the request asks for. Any bytes, taken as a request, are read whole or
 * not at all. The input's first byte chooses between the two, and whether the version is corrected.
 */
#include "fuzz.h"

#define gather gather_of_maker
#define main main_of_maker
#include "../../runtime/making/maker.c"
#undef main
#include "../../runtime/making/helper.c"

/* Returns a socket that gives these bytes and then ends. */
static int feed(const uint8_t *data, size_t bytes)
{
    int ends[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    HOLDS(send(ends[1], data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    close(ends[1]);
    return ends[0];
}

static void check_reply(uint32_t what, const uint8_t *data, size_t bytes)
{
    const tly_make_request request = { .what = what };
    tly_make_reply reply;
    void *parts[TLY_GPU_PASSES] = { NULL };
    tally_error e = TALLY_ERROR_INIT;
    maker m = { .link = feed(data, bytes), .words = -1, .pid = -1, .until = INT64_MAX };
    const int heard = hear_reply(&m, &reply, parts, &e);
    close(m.link);
    if (heard == TALLY_OK) {
        const tally_status status = tly_helper_judge(&request, &reply, &e);
        HOLDS(status <= TALLY_OK && status >= TALLY_TIMEOUT);
        HOLDS(memchr(reply.error.message, 0, sizeof reply.error.message) != NULL);
        HOLDS(memchr(reply.launch.level, 0, sizeof reply.launch.level) != NULL);
        if (status == TALLY_OK && what != TLY_MAKE_SHOW_CPU && what != TLY_MAKE_SHOW_GPU) {
            HOLDS(parts[0] != NULL && reply.bytes[0] > 0);
        }
    } else {
        HOLDS(heard == 1 || e.message[0] != 0);
    }
    tly_helper_drop(parts);
}

static void check_request(const uint8_t *data, size_t bytes)
{
    static job j;
    char *path = NULL;
    const int link = feed(data, bytes);
    memset(&j, 0, sizeof j);
    HOLDS(dup2(link, LINK) == LINK);
    close(link);
    if (take_request(&j) == TAKEN && take_texts(&j, &path) == TAKEN) {
        HOLDS(j.request.shape == TLY_MAKER_SHAPE && j.request.what < TLY_MAKE_COUNT);
        HOLDS(strlen(path) + 1 <= j.request.generator_bytes);
        HOLDS(strlen(j.plan) + 1 <= j.request.plan_bytes);
        HOLDS(memchr(j.request.level, 0, sizeof j.request.level) != NULL);
    }
    free(path);
    free(j.plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    const uint64_t shape = TLY_MAKER_SHAPE;
    if (bytes == 0) {
        return 0;
    }
    uint8_t *copy = fuzz_copy(data + 1, bytes - 1, 0);
    if (data[0] & 1 && bytes > sizeof shape) {
        memcpy(copy, &shape, sizeof shape);
    }
    if (data[0] & 2) {
        check_request(copy, bytes - 1);
    } else {
        check_reply(data[0] / 4 % TLY_MAKE_COUNT, copy, bytes - 1);
    }
    free(copy);
    return 0;
}
