/* SPDX-License-Identifier: Apache-2.0 */
/* What the Vulkan part is made of, as far as it needs no device. */
#include "../runtime/cpu/features.h"
#include "../runtime/vulkan/internal.h"
#include "../runtime/vulkan/profile.h"
#include "../runtime/vulkan/words.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- pieces of a block ----------------------------------------------------------------------- */

/* Random taking and giving against a map of every unit. */
Test(vulkan_parts, heap)
{
    enum { BYTES = 4096, MOST = 64 };
    static unsigned char map[BYTES];
    struct {
        uint64_t offset, bytes;
    } held[MOST];
    int count = 0;
    uint64_t random = 12345;
    tly_heap heap;
    cr_assert(tly_heap_init(&heap, BYTES));
    for (int turn = 0; turn < 20000; turn++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t draw = random >> 33;
        if (count < MOST && draw % 3 != 0) {
            uint64_t bytes = 1 + draw / 3 % 200, align = UINT64_C(1) << draw / 1000 % 7;
            uint64_t offset = tly_heap_take(&heap, bytes, align);
            if (offset == TLY_HEAP_NONE) {
                continue;
            }
            cr_assert_eq(offset % align, 0);
            cr_assert_leq(offset + bytes, BYTES);
            for (uint64_t i = 0; i < bytes; i++) {
                cr_assert_eq(map[offset + i]++, 0);
            }
            held[count].offset = offset;
            held[count++].bytes = bytes;
        } else if (count > 0) {
            int which = (int)(draw % (uint64_t)count);
            memset(map + held[which].offset, 0, held[which].bytes);
            tly_heap_give(&heap, held[which].offset, held[which].bytes);
            held[which] = held[--count];
        }
        uint64_t free = 0, used = 0;
        for (size_t i = 0; i < heap.count; i++) {
            free += heap.span[i].bytes;
            cr_assert(i == 0 ||
                          heap.span[i - 1].offset + heap.span[i - 1].bytes < heap.span[i].offset,
                      "neighbours are joined");
        }
        for (int i = 0; i < count; i++) {
            used += held[i].bytes;
        }
        cr_assert_eq(free + used, BYTES);
    }
    while (count > 0) {
        count--;
        tly_heap_give(&heap, held[count].offset, held[count].bytes);
    }
    cr_assert_eq(heap.count, 1);
    cr_assert_eq(heap.taken, 0);
    cr_assert_eq(tly_heap_take(&heap, BYTES + 1, 1), TLY_HEAP_NONE);
    cr_assert_eq(tly_heap_take(&heap, BYTES, 1), 0);
    cr_assert_eq(tly_heap_take(&heap, 1, 1), TLY_HEAP_NONE);
    tly_heap_end(&heap);
}

/* The smallest span that fits, so that large ones stay whole. */
Test(vulkan_parts, heap_fits_best)
{
    tly_heap heap;
    cr_assert(tly_heap_init(&heap, 1000));
    uint64_t a = tly_heap_take(&heap, 300, 1), b = tly_heap_take(&heap, 10, 1);
    uint64_t c = tly_heap_take(&heap, 50, 1), d = tly_heap_take(&heap, 10, 1);
    cr_assert(a == 0 && b == 300 && c == 310 && d == 360);
    tly_heap_give(&heap, a, 300);
    tly_heap_give(&heap, c, 50);
    cr_assert_eq(tly_heap_take(&heap, 40, 1), 310);
    cr_assert_eq(tly_heap_take(&heap, 40, 1), 0);
    tly_heap_end(&heap);
}

/* --- profiles -------------------------------------------------------------------------------- */

/* A value of a row's range, another one for another n. */
static uint32_t value_within(const tly_cap *cap, uint32_t n)
{
    const uint64_t values = (uint64_t)cap->most - cap->least + 1;
    return cap->form == 'p' ? cap->most >> n % 3
                            : (uint32_t)(cap->least + n * UINT64_C(2654435761) % values);
}

static tly_profile some_profile(void)
{
    tly_profile p = { .device = "Some GPU = 3, \"x\"" };
    for (uint32_t i = 0; i < TLY_CAPS; i++) {
        tly_cap_set(&p.caps, &tly_cap_rows[i], value_within(&tly_cap_rows[i], i + 1));
    }
    cr_assert_null(tly_caps_fault(&p.caps));
    return p;
}

Test(vulkan_parts, profiles_print_and_parse)
{
    char text[2048], again[2048];
    tly_profile p = some_profile(), q;
    tally_error error = TALLY_ERROR_INIT;
    size_t length = tly_profile_print(&p, text, sizeof text);
    cr_assert_eq(length, strlen(text));
    cr_assert_eq(tly_profile_parse(text, &q, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(memcmp(&p.caps, &q.caps, sizeof p.caps), 0);
    cr_assert_str_eq(p.device, q.device);
    tly_profile_print(&q, again, sizeof again);
    cr_assert_str_eq(text, again);
    cr_assert_eq(tly_profile_print(&p, again, 10), length);
    cr_assert_eq(strlen(again), 9);
    /* Blanks, comments, empty lines and other line ends change nothing. */
    char spaced[4096] = "# first\r\n\n  # second = 2\n\t";
    for (const char *at = text; *at != 0; at++) {
        size_t end = strlen(spaced);
        snprintf(spaced + end, sizeof spaced - end, *at == '\n' ? " \r\n\n " : "%c", *at);
    }
    cr_assert_eq(tly_profile_parse(spaced, &q, &error), TALLY_OK, "%s", error.message);
    cr_assert_eq(memcmp(&p.caps, &q.caps, sizeof p.caps), 0);
    cr_assert_str_eq(p.device, q.device);
}

/* The text with the line `from` begins with replaced. */
static void with_line(const char *text, const char *from, const char *to, char *changed)
{
    const char *at = strstr(text, from);
    cr_assert_not_null(at);
    const char *rest = strchr(at + 1, '\n') + 1;
    sprintf(changed, "%.*s%s%s", (int)(at - text), text, to, rest);
}

Test(vulkan_parts, profiles_refuse_by_line)
{
    static const struct {
        const char *from, *to, *message;
    } cases[] = {
        { "driver", "drivers = 1\n", "line 3: an unknown name: drivers" },
        { "driver", "vendor = 1\n", "line 3: given twice: vendor" },
        { "device", "", "without device" },
        { "int64", "", "without int64" },
        { "device", "device =\n", "line 1: a name of 1 to 63 bytes" },
        { "int64", "int64 = 2\n", "int64 = 2 is out of its range: 0 to 1" },
        { "int64", "int64 = yes\n", "not a number: int64" },
        { "int64", "int64\n", "no name = value: int64" },
        { "invocations", "invocations = 4294967296\n", "invocations = 4294967296 is out of its" },
        { "invocations", "invocations = 4294967424\n", "range: 128 to 65536" },
        { "invocations", "invocations = 0x80000000\n", "invocations = 0x80000000 is out of its" },
        { "subgroup ", "subgroup = 2147483648\n",
          "line 4: subgroup = 2147483648 is out of its range: 0 to 128, powers of two" },
        { "subgroup ", "subgroup = 48\n", "subgroup = 48 is out" },
        { "offset_align", "offset_align = 0\n", "range: 1 to 256, powers of two" },
        { "trip_limit", "trip_limit = 1\n", "trip_limit = 1 is out of its range: 0, or 4096 to" },
        { "invocations", "invocations = -1\n", "not a number" },
        { "invocations", "invocations = 1k\n", "not a number" },
        { "invocations", "invocations = \n", "not a number" },
        { "invocations", "invocations = 0x\n", "not a number" },
        { "invocations", "invocations = 99999999999999999999999999\n", "out of its range" },
        { "vendor", "vendor = 0x100000000\n", "out of its range: 0 to 4294967295" },
        { "vendor", "vendor = 0xg\n", "not a number" },
        { "invocations", "= 3\n", "an unknown name" },
    };
    char text[2048], changed[4096];
    tly_profile p = some_profile(), q;
    tly_profile_print(&p, text, sizeof text);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tally_error error = TALLY_ERROR_INIT;
        with_line(text, cases[i].from, cases[i].to, changed);
        cr_assert_eq(tly_profile_parse(changed, &q, &error), TALLY_INVALID, "case %zu", i);
        cr_assert_not_null(strstr(error.message, cases[i].message), "case %zu: %s", i,
                           error.message);
        cr_assert_str_eq(error.field, "device");
    }
    cr_assert_eq(tly_profile_parse("", &q, NULL), TALLY_INVALID);
}

/* Profiles of before operands lack the line. */
Test(vulkan_parts, profiles_need_no_storage_buffers)
{
    char text[2048], changed[4096];
    tly_profile p = some_profile(), q;
    tally_error error = TALLY_ERROR_INIT;
    p.caps.storage_buffers = 7;
    tly_profile_print(&p, text, sizeof text);
    with_line(text, "storage_buffers", "", changed);
    cr_assert_eq(tly_profile_parse(text, &q, &error), TALLY_OK, "%s", error.message);
    cr_expect_eq(q.caps.storage_buffers, 7);
    cr_assert_eq(tly_profile_parse(changed, &q, &error), TALLY_OK, "%s", error.message);
    cr_expect_eq(q.caps.storage_buffers, 4, "what every device has");
}

/* The ends of every range are in it, and what is next to them is not. */
Test(vulkan_parts, profiles_have_ranges)
{
    char text[2048], changed[4096], from[64], to[64];
    const tly_profile p = some_profile();
    tly_profile_print(&p, text, sizeof text);
    for (size_t i = 0; i < TLY_CAPS; i++) {
        const tly_cap *cap = &tly_cap_rows[i];
        const int64_t least = cap->least, most = cap->most;
        const int64_t values[] = { least, most, most + 1, least - 1 };
        snprintf(from, sizeof from, "\n%s = ", cap->name);
        for (int k = 0; k < 4; k++) {
            tly_profile q;
            tally_error error = TALLY_ERROR_INIT;
            if (values[k] < 0) {
                continue;
            }
            snprintf(to, sizeof to, "\n%s = %lld\n", cap->name, (long long)values[k]);
            with_line(text, from, to, changed);
            cr_assert_eq(tly_profile_parse(changed, &q, &error), k < 2 ? TALLY_OK : TALLY_INVALID,
                         "%s: %s", to, error.message);
            cr_assert(k >= 2 || tly_cap_get(&q.caps, cap) == values[k], "%s", to);
            cr_assert(k < 2 || strstr(error.message, cap->name), "%s: %s", to, error.message);
        }
    }
}

#define O VK_PHYSICAL_DEVICE_TYPE_OTHER
#define I VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU
#define D VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU
#define V VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU
#define C VK_PHYSICAL_DEVICE_TYPE_CPU

/* --- which device ---------------------------------------------------------------------------- */

static tly_vk_list *list_of(size_t count, const VkPhysicalDeviceType *types)
{
    tly_vk_list *list = calloc(1, sizeof *list);
    cr_assert_not_null(list);
    list->count = count;
    for (size_t i = 0; i < count; i++) {
        list->facts[i].type = types[i];
        snprintf(list->facts[i].name, sizeof list->facts[i].name, "Device %zu of type %d", i,
                 (int)types[i]);
    }
    return list;
}

Test(vulkan_parts, choice)
{
    static const struct {
        size_t count;
        VkPhysicalDeviceType types[4];
        const char *device;
        tally_status status;
        size_t index;
        const char *message;
    } cases[] = {
        { 4, { C, I, D, D }, NULL, TALLY_OK, 2, "" },
        { 4, { C, I, D, D }, "vulkan", TALLY_OK, 2, "" },
        { 3, { C, V, I }, "vulkan", TALLY_OK, 2, "" },
        { 3, { C, O, V }, "vulkan", TALLY_OK, 2, "" },
        { 2, { C, O }, "vulkan", TALLY_OK, 1, "" },
        { 2, { C, C }, "vulkan", TALLY_OK, 0, "" },
        { 2, { C, O }, NULL, TALLY_OK, 1, "" },
        { 2, { C, C }, NULL, TALLY_UNSUPPORTED, 0, "CPUs" },
        { 2, { C, C }, "vulkan:1", TALLY_OK, 1, "" },
        { 2, { C, D }, "vulkan:2", TALLY_UNSUPPORTED, 0, "vulkan:2" },
        { 2, { C, D }, "vulkan:18446744073709551617", TALLY_UNSUPPORTED, 0, "vulkan:1" },
        { 0, { C }, "vulkan", TALLY_UNSUPPORTED, 0, "driver" },
        { 0, { C }, "vulkan:0", TALLY_UNSUPPORTED, 0, "driver" },
        { 3, { C, D, D }, "device 2", TALLY_OK, 2, "" },
        { 3, { C, D, D }, "TYPE", TALLY_OK, 0, "" },
        { 3, { C, D, D }, "vulkan:x", TALLY_INVALID, 0, "vulkan:x" },
        { 3, { C, D, D }, "", TALLY_INVALID, 0, "no device" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_vk_list *list = list_of(cases[i].count, cases[i].types);
        size_t index = 0;
        tally_error error = TALLY_ERROR_INIT;
        cr_assert_eq(tly_vk_choose(list, cases[i].device, &index, &error), cases[i].status,
                     "case %zu: %s", i, error.message);
        cr_assert_eq(index, cases[i].index, "case %zu", i);
        cr_assert_not_null(strstr(error.message, cases[i].message), "case %zu: %s", i,
                           error.message);
        free(list);
    }
}

Test(vulkan_parts, quirks_and_lacks)
{
    static const struct {
        uint32_t vendor, driver;
        VkPhysicalDeviceType type;
        uint32_t trip_limit, progress, saturation;
        uint64_t largest;
    } cases[] = {
        { 0x10005, VK_DRIVER_ID_MESA_LLVMPIPE, VK_PHYSICAL_DEVICE_TYPE_CPU, 65000, 0, 64, 4096 },
        { 0x1ae0, VK_DRIVER_ID_GOOGLE_SWIFTSHADER, VK_PHYSICAL_DEVICE_TYPE_CPU, 0, 1, 64, 3840 },
        { 0x10de, VK_DRIVER_ID_NVIDIA_PROPRIETARY, VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 0, 1,
          262144, 4096 },
        { 0x8086, 0, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, 0, 1, 16384, 4096 },
        { 0x5143, 0, VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, 0, 0, 16384, 4096 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_vk_facts f = { .type = cases[i].type, .largest = 4096 };
        f.caps.vendor = cases[i].vendor;
        f.caps.driver = cases[i].driver;
        tly_vk_quirks(&f);
        cr_assert_eq(f.caps.trip_limit, cases[i].trip_limit, "case %zu", i);
        cr_assert_eq(f.caps.progress, cases[i].progress, "case %zu", i);
        cr_assert_eq(f.caps.saturation, cases[i].saturation, "case %zu", i);
        cr_assert_eq(f.largest, cases[i].largest, "case %zu", i);
    }
    char text[128];
    tly_caps caps = { .int64 = 1,
                      .subgroup = 8,
                      .subgroup_ops = TLY_SUBGROUP_BASIC | TLY_SUBGROUP_SHUFFLE,
                      .addresses = 1 };
    tly_caps_lack(&caps, text, sizeof text);
    cr_assert_str_eq(text, "f64 f16 bf16 i16 u16 i8 u8 bool subnormals look-back");
    caps.subgroup_ops = TLY_SUBGROUP_SHUFFLE;
    tly_caps_lack(&caps, text, sizeof text);
    cr_assert_str_eq(text, "f64 f16 bf16 i16 u16 i8 u8 bool subnormals shuffles look-back");
    tly_caps_lack(&(tly_caps){ 0 }, text, sizeof text);
    cr_assert_str_eq(
        text, "f64 i64 u64 f16 bf16 i16 u16 i8 u8 bool subnormals shuffles addresses look-back");
}

/* --- loading --------------------------------------------------------------------------------- */

Test(vulkan_parts, without_libvulkan)
{
    tly_vk_library = "libvulkan-that-nobody-has.so.1";
    tally_context *context;
    tally_vulkan *v = NULL;
    tally_error error = TALLY_ERROR_INIT;
    cr_assert_eq(tally_context_create(NULL, &context, NULL), TALLY_OK);
    cr_assert_eq(tally_vulkan_open(context, NULL, &v, &error), TALLY_UNSUPPORTED);
    cr_assert_null(v);
    cr_assert_str_eq(error.field, "device");
    cr_assert_not_null(strstr(error.message, "that-nobody-has"), "%s", error.message);
    cr_assert_not_null(strstr(error.hint, "install"), "%s", error.hint);
    size_t count = 0;
    cr_assert_eq(tally_devices(NULL, 0, &count, &error), TALLY_OK);
    cr_assert_eq(count, TLY_LEVELS);
    tally_context_destroy(&context);
}

/* --- stored words
 * ------------------------------------------------------------------------------ */

/* Words of all widths come back, in as many bytes as they may have; ends that are missing harm
 * nothing. */
Test(vulkan_parts, words)
{
    enum { MOST = 5000 };
    static uint32_t words[MOST], again[MOST];
    unsigned char *bytes = malloc(tly_words_most(MOST));
    uint64_t random = 4711;
    for (unsigned width = 0; width <= 32; width++) {
        for (int i = 0; i < MOST; i++) {
            random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
            words[i] = (uint32_t)((random >> 32) >> (32 - width));
        }
        const size_t length = tly_words_write(words, MOST, bytes);
        cr_assert_leq(length, tly_words_most(MOST));
        cr_assert_eq(tly_words_read(bytes, length, again, MOST), length, "width %u", width);
        cr_assert_eq(memcmp(words, again, sizeof words), 0, "width %u", width);
        cr_assert_eq(tly_words_read(bytes, length / 2, again, MOST), length / 2);
        cr_assert_eq(tly_words_read(bytes, 0, again, MOST), 0);
    }
    free(bytes);
}
