/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ahead FUNCTION IN.npy EXPECTED.npy: calls a function made ahead of time for the first time on
 * eight threads at once, then as a whole, in one to five parts, last part first, and in place where
 * it may be; compares every result's bits. No part of Tally is in this program but what `tally
 * compile` made; TABLE names the functions.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    const char *name;
    int (*whole)(const void *in, void *out);
    int (*part)(const void *in, void *out, int64_t part, int64_t parts);
    int (*sizes_refused)(const void *in, void *out); /* whether those that are none are */
    int in_place, element;                           /* bytes of one of `in` */
} entry;

#include TABLE

enum { LINE = 64, THREADS = 8 };

typedef struct elements {
    char *all, *data;
    size_t bytes;
} elements;

/* What follows a file's header, on a line of its own. */
static elements read_file(const char *path)
{
    elements e = { NULL, NULL, 0 };
    unsigned char head[10];
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(head, 1, sizeof head, file) != sizeof head) {
        perror(path);
        exit(2);
    }
    const long first = 10 + head[8] + 256 * head[9];
    fseek(file, 0, SEEK_END);
    e.bytes = (size_t)(ftell(file) - first);
    e.all = malloc(e.bytes + 2 * LINE);
    e.data = e.all + LINE - (uintptr_t)e.all % LINE;
    fseek(file, first, SEEK_SET);
    if (fread(e.data, 1, e.bytes, file) != e.bytes) {
        perror(path);
        exit(2);
    }
    fclose(file);
    return e;
}

static int failed;

static void expect(int holds, const char *name, const char *what, int64_t number)
{
    if (!holds) {
        printf("FAILED %s: %s %lld\n", name, what, (long long)number);
        failed = 1;
    }
}

typedef struct caller {
    const entry *e;
    const void *in;
    char *all, *out;
    int status;
    pthread_t thread;
    pthread_barrier_t *begin;
} caller;

static void *call_once(void *argument)
{
    caller *c = argument;
    pthread_barrier_wait(c->begin);
    c->status = c->e->whole(c->in, c->out);
    return NULL;
}

/* The first calls of the process, which find what the machine has. */
static void call_together(const entry *e, elements in, elements expected)
{
    caller callers[THREADS];
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++) {
        caller *c = &callers[i];
        *c = (caller){ e, in.data, malloc(expected.bytes + 2 * LINE), NULL, -1, 0, &begin };
        c->out = c->all + LINE - (uintptr_t)c->all % LINE;
        memset(c->out, 0, expected.bytes);
        if (pthread_create(&c->thread, NULL, call_once, c) != 0) {
            printf("FAILED %s: no thread\n", e->name);
            exit(2);
        }
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(callers[i].thread, NULL);
        expect(callers[i].status == 0, e->name, "returned on a thread", callers[i].status);
        expect(memcmp(callers[i].out, expected.data, expected.bytes) == 0, e->name,
               "other bits on thread", i);
        free(callers[i].all);
    }
    pthread_barrier_destroy(&begin);
}

static void call(const entry *e, elements in, elements expected)
{
    char *all = malloc(expected.bytes + 2 * LINE), *out = all + LINE - (uintptr_t)all % LINE;
    for (int64_t parts = 0; parts <= 5; parts++) {
        memset(out, 0, expected.bytes + 1);
        int status = parts == 0 ? e->whole(in.data, out) : 0;
        for (int64_t part = parts - 1; part >= 0; part--) {
            status |= e->part(in.data, out, part, parts);
        }
        expect(status == 0, e->name, "returned", status);
        expect(memcmp(out, expected.data, expected.bytes) == 0, e->name, "other bits, parts",
               parts);
        expect(out[expected.bytes] == 0, e->name, "wrote beyond its output, parts", parts);
    }
    if (e->in_place) {
        memcpy(out, in.data, in.bytes);
        expect(e->whole(out, out) == 0, e->name, "in place", 0);
        expect(memcmp(out, expected.data, expected.bytes) == 0, e->name, "other bits in place", 0);
    }
    free(all);
}

static void refuse(const entry *e, elements in, elements expected)
{
    char *all = calloc(1, in.bytes + expected.bytes + 4 * LINE), *out = all + LINE;
    expect(e->part(in.data, out, -1, 2) == EINVAL, e->name, "part -1", 0);
    expect(e->part(in.data, out, 2, 2) == EINVAL, e->name, "part 2 of 2", 0);
    expect(e->part(in.data, out, 0, 0) == EINVAL, e->name, "no parts", 0);
    expect(e->sizes_refused(in.data, out), e->name, "sizes", 0);
    if (expected.bytes > 1 && in.bytes > 0) {
        if (e->element > 1) {
            expect(e->whole(in.data + 1, out) == EINVAL, e->name, "misaligned", 0);
        }
        expect(e->whole(in.data, NULL) == EINVAL, e->name, "no output", 0);
        expect(e->whole(NULL, out) == EINVAL, e->name, "no input", 0);
        if (in.bytes > LINE && expected.bytes > LINE) { /* behind its own first element */
            expect(e->whole(out, out + 8) == EINVAL, e->name, "an overlap", 0);
        }
    }
    for (size_t i = 0; i < expected.bytes; i++) {
        if (out[i] != 0) {
            expect(0, e->name, "wrote although it refused", (int64_t)i);
            break;
        }
    }
    free(all);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 4 && i < sizeof table / sizeof *table; i++) {
        if (strcmp(table[i].name, argv[1]) == 0) {
            elements in = read_file(argv[2]), expected = read_file(argv[3]);
            call_together(&table[i], in, expected);
            call(&table[i], in, expected);
            refuse(&table[i], in, expected);
            free(in.all);
            free(expected.all);
            return failed;
        }
    }
    printf("FAILED usage\n");
    return 2;
}
