/* SPDX-License-Identifier: Apache-2.0 */
/* What the model's tiles (look_back_tile.c) and the search through them (look_back_model.c)
 * share. */
#ifndef TLY_LOOK_BACK_MODEL_H
#define TLY_LOOK_BACK_MODEL_H

#include <stdint.h>

enum { MOST_TILES = 6 };

/* What is published of a tile, each in two words; of a group it is its last tile that does. */
enum { TOTAL, CARRY, GROUP_TOTAL, GROUP_CARRY, PLACES };

/* Where a tile is. Its total is there as soon as it has started. */
enum { NOT_YET, OWN_TOTALS, BASE, CHAIN, CARRY_KNOWN, DONE };

typedef enum fault {
    NONE,
    FLAG_APART,  /* a flag in one word, the value in another */
    HALF_READ,   /* one of the two words is enough */
    ANY_CARRY,   /* the predecessor's carry is taken where it happens to be there */
    LATE_TOTAL,  /* a group's total waits for its base */
    LAST_FIRST,  /* tiles start in no order */
    STALE_GROUP, /* a bad group's total is combined like any other */
    FAULTS
} fault;

typedef struct model {
    int tiles, group, slots; /* tiles, tiles a group, tiles at work at once */
    unsigned bad;            /* bits of tiles */
    unsigned late;           /* of those that publish their total only with the base (tests) */
    int frozen;              /* a tile that never gets its base, or -1 */
    fault fault;
    uint16_t content[MOST_TILES][PLACES], base[MOST_TILES], carry[MOST_TILES];
    const char *found; /* what is wrong */
} model;

/* Words by number: (tile * PLACES + place) * 2 + half. */
typedef struct state {
    uint64_t issued, visible, seen[MOST_TILES];
    uint8_t at[MOST_TILES], pad[2];
} state;

/* Fills in what is published, by the definition, tile by tile. */
void tly_model_define(model *m);
/* A tile starts; goes on: whether it did, the state then is the next. */
void tly_model_start(const model *m, state *s, int tile);
int tly_model_pass(model *m, state *s, int tile);
/* The words that it looks at where it is. */
uint64_t tly_model_wanted(const model *m, int tile, int at);
/* Nothing can happen any more. */
void tly_model_judge_end(model *m, const state *s);
/* States that no tile can tell apart become one: when words appear that nobody is going to look at
 * does not matter. */
void tly_model_simplify(const model *m, state *s);

#endif
