/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seeds FOLDER writes first inputs to FOLDER/TARGET for targets whose layouts change with the
 * sources: real entries, packs, compressed bytes, modules, launch records, plans, replies and
 * requests.
 */
#include "cases.h"

#include "../../codegen/plan/planner.h"
#include "../../codegen/plan/target.h"
#include "../../runtime/cache/compress.h"
#include "../../runtime/cache/pack.h"
#include "../../runtime/cache/store.h"
#include "../../runtime/making/maker.h"
#include "../../templates/build.h"
#ifdef TALLY_VULKAN
#include "../../codegen/generate_gpu.h"
#include "../../codegen/plan/gpu.h"
#include "../../runtime/vulkan/words.h"
#endif

#include <sys/stat.h>

static const char *folder;

/* Writes one input: the bytes of `front`, then the others. */
static void put(const char *target, size_t number, const void *front, size_t front_bytes,
                const void *bytes, size_t count)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, target);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%zu", folder, target, number);
    FILE *file = fopen(path, "wb");
    HOLDS(file != NULL && fwrite(front, 1, front_bytes, file) == front_bytes);
    HOLDS(fwrite(bytes, 1, count, file) == count && fclose(file) == 0);
}

static void put_entries(void)
{
    enum { ENTRIES = 6 };
    tly_packed_entry entries[ENTRIES];
    for (size_t i = 0; i < ENTRIES; i++) {
        char value[300];
        const tly_store_name name = { "cumsum:f32", "cpu:x86-64-v3" };
        tly_store_key key;
        memset(value, 'a' + (int)i, sizeof value);
        memcpy(value, "what many have in common", 24);
        HOLDS(tly_store_key_make(&key, "cpu", &i, sizeof i, ""));
        size_t count;
        void *bytes = tly_entry_write(&key, &name, value, sizeof value, &count);
        HOLDS(bytes != NULL);
        put("entry", i, "", 0, bytes, count);
        entries[i] = (tly_packed_entry){ key.hash, bytes, count };
    }
    for (size_t i = 1; i <= ENTRIES; i++) {
        size_t count;
        void *pack = tly_pack_write(entries, i, &count);
        HOLDS(pack != NULL);
        put("pack", i, "", 0, pack, count);
        free(pack);
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        const tly_dictionary d = { entries[0].bytes, 200 };
        unsigned char compressed[4096];
        tly_compressor *compressor = tly_compressor_new(d, entries[i].count);
        HOLDS(compressor != NULL &&
              tly_compressed_most(entries[i].count) < sizeof compressed - 200);
        memcpy(compressed, d.bytes, 200);
        const size_t length = 200 + tly_compress(compressor, entries[i].bytes, entries[i].count,
                                                 compressed + 200);
        const unsigned char front[] = { (unsigned char)((200 * 256 + length - 1) / length),
                                        (unsigned char)(entries[i].count >> 8),
                                        (unsigned char)entries[i].count };
        put("compress", i, front, sizeof front, compressed, length);
        tly_compressor_free(compressor);
    }
    for (size_t i = 0; i < ENTRIES; i++) {
        free((void *)(uintptr_t)entries[i].bytes);
    }
}

/* Records of three kinds; see record.c. */
#ifdef TALLY_VULKAN
enum { KINDS = 3 };
#else
enum { KINDS = 1 };
#endif

static void put_record(size_t number, unsigned kind, const void *record, size_t bytes)
{
    const unsigned char front = (unsigned char)(number * KINDS + kind);
    put("record", number * KINDS + kind, &front, 1, record, bytes);
}

static tly_launch put_launch(size_t number)
{
    fuzz_case c;
    tly_plan plan;
    tly_launch launch;
    kir_kernel *kernel = NULL;
    const tly_target *target = tly_target_find("x86-64-v3");
    fuzz_case_make(number, 0, &c);
    HOLDS(tly_plan_make(&c.problem, target, "", &plan, NULL) == TALLY_OK);
    HOLDS(tly_template_build(&c.problem, target, &plan, &kernel, &launch, NULL) == TALLY_OK);
    kir_free(kernel);
    put_record(number, 0, &launch, sizeof launch);
    return launch;
}

static void put_helper(size_t number, const tly_launch *launch)
{
    static const char text[] = "libtally-codegen.so\0unroll=2";
    const unsigned char replies = (unsigned char)(4 * (number % TLY_MAKE_COUNT) + 1), requests = 3;
    struct {
        tly_make_reply reply;
        char bytes[32];
    } reply;
    struct {
        tly_make_request request;
        char text[sizeof text];
    } request;
    memset(&reply, 0, sizeof reply);
    memset(&request, 0, sizeof request);
    reply.reply.shape = request.request.shape = TLY_MAKER_SHAPE;
    reply.reply.launch = *launch;
    reply.reply.gpu.passes = 1;
    reply.reply.bytes[0] = sizeof reply.bytes;
    request.request.what = (uint32_t)(number % TLY_MAKE_COUNT);
    request.request.generator_bytes = (uint32_t)strlen(text) + 1;
    request.request.plan_bytes = sizeof text - request.request.generator_bytes;
    memcpy(request.text, text, sizeof text);
    put("helper", 2 * number, &replies, 1, &reply, offsetof(__typeof__(reply), bytes) + 32);
    put("helper", 2 * number + 1, &requests, 1, &request,
        offsetof(__typeof__(request), text) + sizeof text);
}

#ifdef TALLY_VULKAN
static void put_gpu(size_t number)
{
    fuzz_case c;
    tly_gpu_plan plan;
    tly_gpu_artifact made;
    fuzz_case_make(number, 1, &c);
    HOLDS(tly_gpu_plan_make(&c.problem, &c.geometry, &fuzz_caps, "", &plan, NULL) == TALLY_OK);
    HOLDS(tly_generate_gpu(&c.problem, &fuzz_caps, &plan, &made, NULL) == TALLY_OK);
    put_record(number, 1, &made.launch, sizeof made.launch);
    put_record(number, 2, &plan, sizeof plan);
    const size_t count = made.word_count[0], coded = count - 5;
    unsigned char *bytes = malloc(tly_words_most(count));
    HOLDS(bytes != NULL && coded <= 0xffff);
    const size_t length = tly_words_write(made.words[0], count, bytes);
    const unsigned char front[] = { (unsigned char)(coded >> 8), (unsigned char)coded };
    put("words", number, front, sizeof front, bytes, length);
    free(bytes);
    tly_release_gpu(&made);
}
#endif

int main(int argc, char **argv)
{
    HOLDS(argc == 2);
    folder = argv[1];
    mkdir(folder, 0777);
    put_entries();
    for (size_t i = 0; i < FUZZ_CASES; i++) {
        const tly_launch launch = put_launch(i);
        put_helper(i, &launch);
#ifdef TALLY_VULKAN
        put_gpu(i);
#endif
    }
    return 0;
}
