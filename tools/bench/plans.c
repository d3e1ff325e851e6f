/* SPDX-License-Identifier: Apache-2.0 */
/* What the library says of plans, as text: every key of one, what decides its order, what there is
 * beside. */
#include "search.h"

#include <string.h>

/* A stage as one line. */
typedef struct text {
    char *to;
    size_t length, room;
} text;

static int append(void *user, const char *bytes, size_t count)
{
    text *t = user;
    if (count >= t->room - t->length) {
        return 1;
    }
    for (size_t i = 0; i < count; i++) { /* blanks go: "key = value" becomes an override */
        if (bytes[i] != ' ') {
            t->to[t->length++] = bytes[i] == '\n' ? ',' : bytes[i];
        }
    }
    t->to[t->length] = 0;
    return 0;
}

static tally_status show(const tly_bench_target *target, const char *plan, tally_stage stage,
                         tally_write write, void *user, tally_error *error)
{
    const tally_kernel_options options = { .size = sizeof options,
                                           .device = target->selector,
                                           .plan = plan };
    return tally_inspect(target->context, &target->job.descriptor, &options, stage, write, user,
                         error);
}

static tally_status show_line(const tly_bench_target *target, const char *plan, tally_stage stage,
                              char line[TLY_MOST_OVERRIDES], tally_error *error)
{
    text t = { line, 0, TLY_MOST_OVERRIDES };
    line[0] = 0;
    tally_status status = show(target, plan, stage, append, &t, error);
    if (status == TALLY_OK && t.length > 0) {
        line[t.length - 1] = 0; /* the last comma */
    }
    return status;
}

tally_status tly_plan_whole(const tly_bench_target *target, const char *plan,
                            char whole[TLY_MOST_OVERRIDES], tally_error *error)
{
    return show_line(target, plan, TALLY_STAGE_PLAN, whole, error);
}

tally_status tly_plan_order(const tly_bench_target *target, const char *plan,
                            char order[TLY_MOST_OVERRIDES], tally_error *error)
{
    return show_line(target, plan, TALLY_STAGE_ORDER, order, error);
}

/* Lines of a stage, each its own. */
typedef struct listing {
    tly_lines lines;
    int status;
    tly_report *report;
} listing;

static int take_line(void *user, const char *bytes, size_t count)
{
    listing *l = user;
    char line[TLY_MOST_OVERRIDES];
    snprintf(line, sizeof line, "%.*s", (int)(count ? count - 1 : 0), bytes);
    l->status = tly_lines_add(&l->lines, line, "", l->report);
    return l->status;
}

int tly_plans_beside(const tly_bench_target *target, const char *plan, tly_lines *lines,
                     tly_report *report)
{
    tally_error error = TALLY_ERROR_INIT;
    listing l = { { NULL, 0 }, EXIT_DONE, report };
    tally_status status = show(target, plan, TALLY_STAGE_CHOICES, take_line, &l, &error);
    *lines = l.lines;
    return l.status ? l.status : status == TALLY_OK ? EXIT_DONE : tly_adopt(report, &error);
}
