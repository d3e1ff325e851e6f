/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Manifests as C data: one header for C99 and C++11 that needs nothing but <stdint.h>. The types
 * are the text of tally/manifest.h; names other than the kernels' own begin with tally_.
 */
#include "manifest.h"

#include "manifest_types.h" /* made of tally/manifest.h: its lines, as strings */

#include <inttypes.h>

enum { WORDS_A_LINE = 8, BYTES_A_LINE = 16 };

/* A C string; what could end it, or be something else in it, as octal numbers. */
static void put_string(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        if (c < ' ' || c > '~' || c == '"' || c == '\\' || c == '?') {
            fprintf(to, "\\%03o", c);
        } else {
            fputc(c, to);
        }
    }
    fputc('"', to);
}

void tly_header_begin(FILE *to)
{
    fputs("\n#include <stddef.h>\n#include <stdint.h>\n\n", to);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        fputs(types[i], to);
    }
}

/* static const TYPE tally_NAME_WHAT[COUNT] = { */
static void begin(FILE *to, const char *type, const char *name, const char *what, uint32_t count)
{
    fprintf(to, "static const %s tally_%s_%s[%" PRIu32 "] = {\n", type, name, what, count);
}

static void put_numbers(FILE *to, const uint32_t *numbers, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        fprintf(to, "%s0x%08" PRIx32 ",%s", i % WORDS_A_LINE ? " " : "    ", numbers[i],
                i % WORDS_A_LINE == WORDS_A_LINE - 1 || i == count - 1 ? "\n" : "");
    }
}

static void put_modules(FILE *to, const char *name, const tally_manifest *m)
{
    for (uint32_t i = 0; i < m->module_count; i++) {
        fprintf(to, "static const uint32_t tally_%s_words_%" PRIu32 "[%" PRIu32 "] = {\n", name, i,
                m->modules[i].word_count);
        put_numbers(to, m->modules[i].words, m->modules[i].word_count);
        fputs("};\n", to);
    }
    begin(to, "tally_manifest_module", name, "modules", m->module_count);
    for (uint32_t i = 0; i < m->module_count; i++) {
        const tally_manifest_module *module = &m->modules[i];
        fputs("    { ", to);
        put_string(to, module->entry);
        fprintf(to,
                ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", %" PRIu32 ", tally_%s_words_%" PRIu32
                " },\n",
                module->workgroup, module->workgroup_bytes, module->subgroup, module->word_count,
                name, i);
    }
    fputs("};\n", to);
}

static void put_buffers(FILE *to, const char *name, const tally_manifest *m)
{
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        const tally_manifest_buffer *buffer = &m->buffers[i];
        if (buffer->data) {
            begin(to, "unsigned char", name, buffer->name, buffer->data_bytes);
            for (uint32_t k = 0; k < buffer->data_bytes; k++) {
                fprintf(to, "%s0x%02x,%s", k % BYTES_A_LINE ? " " : "    ", buffer->data[k],
                        k % BYTES_A_LINE == BYTES_A_LINE - 1 || k == buffer->data_bytes - 1 ? "\n"
                                                                                            : "");
            }
            fputs("};\n", to);
        }
    }
    begin(to, "tally_manifest_buffer", name, "buffers", m->buffer_count);
    for (uint32_t i = 0; i < m->buffer_count; i++) {
        const tally_manifest_buffer *buffer = &m->buffers[i];
        fprintf(to, "    { \"%s\", %" PRIu32 ", %" PRIu32 ", UINT64_C(%" PRIu64 "), %" PRIu32 ", ",
                buffer->name, buffer->set, buffer->binding, buffer->bytes, buffer->data_bytes);
        if (buffer->data) {
            fprintf(to, "tally_%s_%s },\n", name, buffer->name);
        } else {
            fputs("NULL },\n", to);
        }
    }
    fputs("};\n", to);
}

static void put_zeros(FILE *to, const char *name, const tally_manifest *m)
{
    begin(to, "tally_manifest_zero", name, "zeros", m->zero_count);
    for (uint32_t i = 0; i < m->zero_count; i++) {
        fprintf(to, "    { %" PRIu32 ", UINT64_C(%" PRIu64 "), UINT64_C(%" PRIu64 ") },\n",
                m->zeros[i].buffer, m->zeros[i].offset, m->zeros[i].bytes);
    }
    fputs("};\n", to);
}

static void put_dispatches(FILE *to, const char *name, const tally_manifest *m)
{
    begin(to, "tally_manifest_dispatch", name, "dispatches", m->dispatch_count);
    for (uint32_t i = 0; i < m->dispatch_count; i++) {
        const tally_manifest_dispatch *d = &m->dispatches[i];
        fprintf(to,
                "    { %" PRIu32 ", { %" PRIu32 ", %" PRIu32 ", %" PRIu32 " }, %" PRIu32 ", {\n",
                d->module, d->groups[0], d->groups[1], d->groups[2], d->barrier);
        put_numbers(to, d->push, sizeof d->push / sizeof *d->push);
        fputs("    } },\n", to);
    }
    fputs("};\n", to);
}

static void put_names(FILE *to, const char *name, const char *what, const char *const *names,
                      uint32_t count)
{
    if (count) {
        begin(to, "char *const", name, what, count);
        for (uint32_t i = 0; i < count; i++) {
            fprintf(to, "    \"%s\",\n", names[i]);
        }
        fputs("};\n", to);
    }
}

/* The array of this name, or NULL where C has no empty ones. */
static void put_array(FILE *to, const char *name, const char *what, uint32_t count)
{
    if (count) {
        fprintf(to, "    tally_%s_%s,\n", name, what);
    } else {
        fputs("    NULL,\n", to);
    }
}

void tly_header_add(FILE *to, const char *name, const tally_manifest *m)
{
    const struct {
        const char *what;
        uint32_t count;
        void (*put)(FILE *to, const char *name, const tally_manifest *m);
    } arrays[] = {
        { "modules", m->module_count, put_modules },
        { "buffers", m->buffer_count, put_buffers },
        { "zeros", m->zero_count, put_zeros },
        { "dispatches", m->dispatch_count, put_dispatches },
    };
    enum { ARRAYS = sizeof arrays / sizeof *arrays };
    fprintf(to, "\n/* %s = %s */\n", name, m->word);
    put_names(to, name, "features", m->features, m->feature_count);
    put_names(to, name, "properties", m->properties, m->property_count);
    for (int i = 0; i < ARRAYS; i++) {
        if (arrays[i].count) {
            arrays[i].put(to, name, m);
        }
    }
    fprintf(to, "static const tally_manifest %s = {\n    ", name);
    put_string(to, m->word);
    fputs(",\n    ", to);
    put_string(to, m->target);
    fprintf(to, ",\n    \"%s\",\n    %" PRIu32 ", %" PRIu32 ",\n", m->spirv, m->feature_count,
            m->property_count);
    put_array(to, name, "features", m->feature_count);
    put_array(to, name, "properties", m->property_count);
    fprintf(to, "    %" PRIu32 ", %" PRIu32 ",\n    ", m->subgroup_size, m->subgroup_operations);
    for (int i = 0; i < ARRAYS; i++) {
        fprintf(to, "%" PRIu32 ",%s", arrays[i].count, i < ARRAYS - 1 ? " " : "\n");
    }
    for (int i = 0; i < ARRAYS; i++) {
        put_array(to, name, arrays[i].what, arrays[i].count);
    }
    fprintf(to, "    %" PRIu32 ",\n};\n", m->storage_buffers);
}
