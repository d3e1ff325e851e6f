/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels for CPUs as the cache's objects: made by the generator as a launch record and code in one
 * piece, and loaded from such a piece, whether it was just made or lay on disk.
 */
#include "../context/internal.h"

#include "../cpu/cpu.h"
#include "../descriptor/descriptor.h"
#include "../host/error.h"
#include "../host/thread.h"
#include "isolate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What code depends on, beside the plan's overrides. */
typedef struct facts {
    tly_problem problem;
    char level[16];
} facts;

_Static_assert(sizeof(facts) == sizeof(tly_problem) + 16, "padding in a key");

static const facts *facts_of(const tly_object *object)
{
    return object->key.facts;
}

/* --- names --------------------------------------------------------------------------------- */

void tly_problem_word(const tly_problem *p, char *text, size_t capacity)
{
    int small = p->tensor[TLY_IN].dtype == TALLY_F32 || p->tensor[TLY_IN].dtype == TALLY_F16 ||
                p->tensor[TLY_IN].dtype == TALLY_BF16;
    const struct {
        const char *text;
        int there;
    } options[] = {
        { "exclusive", p->exclusive },
        { "last", p->last },
        { "order=serial", p->order == TALLY_ORDER_SERIAL },
        { "acc=f64", p->acc == TALLY_F64 && small },
        { "nan=ignore", p->nan_ignore },
    };
    const char *to = p->tensor[TLY_OUT].dtype != p->tensor[TLY_IN].dtype ? ">" : "";
    const char *out = p->tensor[TLY_OUT].dtype != p->tensor[TLY_IN].dtype
                          ? tly_dtypes[p->tensor[TLY_OUT].dtype].name
                          : "";
    int length = snprintf(text, capacity, "%s:%s%s%s", tally_op_name((tally_op)p->op),
                          tly_dtypes[p->tensor[TLY_IN].dtype].name, to, out);
    const char *before = ":";
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (options[i].there && length > 0 && (size_t)length < capacity) {
            length += snprintf(text + length, capacity - (size_t)length, "%s%s", before,
                               options[i].text);
            before = ",";
        }
    }
}

static void name(const tly_object *object, tly_store_name *n)
{
    tly_problem_word(&facts_of(object)->problem, n->word, sizeof n->word);
    snprintf(n->device, sizeof n->device, "cpu:%s", facts_of(object)->level);
}

/* --- making -------------------------------------------------------------------------------- */

static tally_status join(const tly_artifact *artifact, tly_piece *made, tally_error *error)
{
    made->count = sizeof artifact->launch + artifact->code_bytes;
    char *bytes = malloc(made->count);
    if (bytes == NULL) {
        return tly_out_of_memory(error, "a kernel", made->count);
    }
    memcpy(bytes, &artifact->launch, sizeof artifact->launch);
    memcpy(bytes + sizeof artifact->launch, artifact->code, artifact->code_bytes);
    made->bytes = bytes;
    return TALLY_OK;
}

/* The arguments of make as one. */
typedef struct making {
    const tly_object *object;
    tly_piece *made;
    int quick; /* if the generator can */
} making;

static tally_status make_now(void *state, tally_error *error)
{
    const making *m = state;
    const tly_key *key = &m->object->key;
    tally_context *context = key->owner;
    const facts *f = facts_of(m->object);
    const tly_generator *generator;
    tally_status status = tly_generator_find(context, &generator, error);
    if (status != TALLY_OK) {
        return status;
    }
    tly_artifact artifact = { .code = NULL };
    m->made->quick = m->quick && generator->generate_quick != NULL;
    status = tly_make_cpu(context, generator, &f->problem, f->level, key->plan, m->made->quick,
                          &artifact, error);
    if (status != TALLY_OK) {
        return status;
    }
    status = join(&artifact, m->made, error);
    m->made->lasting = tly_generator_lasting(generator);
    tly_release_cpu(context, generator, &artifact);
    return status;
}

static tally_status make(const tly_object *object, tly_piece *made, tally_error *error)
{
    making m = { object, made, 0 };
    return tly_stack_call(make_now, &m, error);
}

/* What quick selection alone fails at is made in full. */
static tally_status make_quick(const tly_object *object, tly_piece *made, tally_error *error)
{
    making m = { object, made, 1 };
    tally_status status = tly_stack_call(make_now, &m, error);
    return status == TALLY_INTERNAL && made->quick ? make(object, made, error) : status;
}

static tally_status check_now(void *state, tally_error *error)
{
    const tly_key *key = state;
    tally_context *context = key->owner;
    const facts *f = key->facts;
    const tly_generator *generator;
    tally_status status = tly_generator_find(context, &generator, error);
    if (status == TALLY_OK && tly_generator_lasting(generator) && generator->check != NULL) {
        status = generator->check(&f->problem, f->level, key->plan, error);
    }
    return status == TALLY_OK ? tly_make_open(context, generator, 0, error) : status;
}

static tally_status check(const tly_key *key, tally_error *error)
{
    tly_key asked = *key;
    return tly_stack_call(check_now, &asked, error);
}

/* --- loading ------------------------------------------------------------------------------- */

/* Numbers far above what any template asks for, and low enough that no sum of theirs overflows. */
enum { MOST_TILE = 1 << 24, MOST_SCRATCH = 1 << 26, MOST_LANE_SCRATCH = 1 << 12 };

static int in_range(int64_t number, int64_t most)
{
    return number >= 0 && number <= most;
}

static int sound(const tly_launch *l, const facts *f)
{
    const int in_lanes = l->form != TLY_ROWS && l->form != TLY_REDUCED_ROWS;
    const int64_t most_record = l->form == TLY_ROWS ? TLY_CARRY_BYTES : TLY_REDUCE_MOST_OUTPUT;
    return l->abi == TLY_ABI_VERSION && l->form == f->problem.form && l->chunk >= 0 &&
           tly_has_tensors(l->tensors) && in_range(l->tile_lanes, MOST_TILE) &&
           (!in_lanes || l->tile_lanes > 0) && in_range(l->scratch_bytes, MOST_SCRATCH) &&
           in_range(l->scratch_lane_bytes, l->tile_lanes > 0 ? MOST_LANE_SCRATCH : 0) &&
           l->record_bytes >= tly_reduces((int)l->form) && l->record_bytes <= most_record &&
           l->split_bytes >= 0 && strncmp(l->level, f->level, sizeof l->level) == 0 &&
           memchr(l->template_name, 0, sizeof l->template_name) != NULL;
}

/* To debuggers, as tally_cumsum_f32_rows_x86_64_v4. */
static void show(tly_native_code *native, int quick, size_t bytes)
{
    const tally_context *context = native->base.key.owner;
    tly_store_name n;
    char text[160], symbol[160];
    name(&native->base, &n);
    snprintf(text, sizeof text, "tally:%s:%.16s:%.16s%s", n.word, native->launch.template_name,
             native->launch.level, quick ? ":quick" : "");
    tly_identifier(text, symbol, sizeof symbol);
    native->shown[quick] = tly_debug_show(quick ? &native->quick : &native->code, bytes, symbol,
                                          &context->store.log);
}

static tally_status load(tly_object *object, const tly_piece *made, tally_error *error)
{
    tly_native_code *native = (tly_native_code *)object;
    tly_launch launch;
    if (made->count > sizeof launch) {
        memcpy(&launch, made->bytes, sizeof launch);
    }
    if (made->count <= sizeof launch || !sound(&launch, facts_of(object))) {
        return tly_fail(error, TALLY_INTERNAL, "device", "the generator's launch record is bad");
    }
    if (native->quick.entry == NULL) {
        native->launch = launch;
    } else if (memcmp(&native->launch, &launch, sizeof launch) != 0) { /* it is in use */
        return tly_fail(error, TALLY_INTERNAL, "device",
                        "the generator's launch record is not that of its quick code");
    }
    tly_code *code = made->quick ? &native->quick : &native->code;
    tally_status status = tly_code_load((const unsigned char *)made->bytes + sizeof launch,
                                        made->count - sizeof launch, code, error);
    if (status == TALLY_OK) {
        show(native, made->quick, made->count - sizeof launch);
        atomic_store_explicit(&native->entry, native->code.entry, memory_order_release);
    }
    return status;
}

static void unload(tly_object *object)
{
    tly_native_code *native = (tly_native_code *)object;
    for (int quick = 0; quick < 2; quick++) {
        tly_debug_hide(native->shown[quick]);
        native->shown[quick] = NULL;
    }
    tly_code_unload(&native->code);
    tly_code_unload(&native->quick);
}

/* --- the backend --------------------------------------------------------------------------- */

static const tly_backend backend = {
    .kind = "cpu",
    .object_bytes = sizeof(tly_native_code),
    .facts_bytes = sizeof(facts),
    .make = make,
    .make_quick = make_quick,
    .check = check,
    .load = load,
    .unload = unload,
    .name = name,
};

static void find_facts(const tly_request *request, facts *f)
{
    memset(f, 0, sizeof *f);
    f->problem = request->problem;
    strncpy(f->level, tly_level_name(request->level), sizeof f->level - 1);
}

tally_status tly_native_get(tally_context *context, const tly_request *request, tly_want want,
                            tly_native_code **native, tly_origin *origin, tally_error *error)
{
    facts f;
    find_facts(request, &f);
    const tly_key key = { &backend, context, &f, request->plan };
    tly_object *object;
    if (want == TLY_WANT_FOUND) {
        object = tly_cache_find(&context->cache, &key);
        origin->from = TLY_FROM_MEMORY;
        *native = object != NULL ? (tly_native_code *)object : *native;
        return TALLY_OK;
    }
    tally_status status = want == TLY_WANT_FULL
                              ? tly_cache_get_full(&context->cache, &key, &object, origin, error)
                              : tly_cache_get(&context->cache, &key, &object, origin, error);
    if (status == TALLY_OK) {
        *native = (tly_native_code *)object;
    } else if (status == TALLY_NO_GENERATOR) {
        tly_hint_missing(context, request, error);
    }
    return status;
}

tally_status tly_native_supports(tally_context *context, const tly_request *request,
                                 tally_error *error)
{
    facts f;
    find_facts(request, &f);
    const tly_key key = { &backend, context, &f, request->plan };
    tally_status status = tly_cache_supports(&context->cache, &key, error);
    if (status == TALLY_NO_GENERATOR) {
        tly_hint_missing(context, request, error);
    }
    return status;
}

tally_status tly_native_keep(tally_context *context, const tly_request *request, tally_error *error)
{
    facts f;
    find_facts(request, &f);
    const tly_key key = { &backend, context, &f, request->plan };
    return tly_cache_keep(&context->cache, &key, error);
}
