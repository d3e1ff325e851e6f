/* SPDX-License-Identifier: Apache-2.0 */
/*
 * System calls that fail on purpose, for good, in this thread and what it starts: how a policy, a
 * file system or an older Linux is met without having it.
 */
#ifndef FILTER_H
#define FILTER_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILTER_MOST = 8, FILTER_RULE = 5 };

/* The call fails with `error` if its argument has one of the bits; always, if `bits` is 0. */
typedef struct filter_rule {
    long call;
    unsigned argument, bits;
    int error;
} filter_rule;

/* Whether the kernel took the rules. */
static inline int filter_calls(const filter_rule *rules, unsigned count)
{
    struct sock_filter code[FILTER_MOST * FILTER_RULE + 1];
    struct sock_fprog program = { 0, code };
    unsigned short n = 0;
    for (unsigned i = 0; i < count && i < FILTER_MOST; i++) {
        const filter_rule *r = &rules[i];
        const unsigned low = (unsigned)offsetof(struct seccomp_data, args[0]) + 8 * r->argument;
        const struct sock_filter one[FILTER_RULE] = {
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
            BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)r->call, 0, 3),
            BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low),
            BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, r->bits ? r->bits : 0, 0, r->bits ? 1 : 0),
            BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)r->error),
        };
        for (int k = 0; k < FILTER_RULE; k++) {
            code[n++] = one[k];
        }
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    program.len = n;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

#endif
