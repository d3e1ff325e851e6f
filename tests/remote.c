/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of remote.h. A socket instead of a pipe, so that a runner that died shows as an error
 * and not as a signal.
 */
#include "remote.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct remote {
    pid_t pid;
    int socket;
};

static int send_all(int socket, const void *data, size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return 0;
        }
        at += sent;
        bytes -= (size_t)sent;
    }
    return 1;
}

static int receive_all(int socket, void *data, size_t bytes)
{
    for (char *at = data; bytes > 0;) {
        ssize_t got = recv(socket, at, bytes, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return 0;
        }
        at += got;
        bytes -= (size_t)got;
    }
    return 1;
}

remote *remote_open(const char *const command[])
{
    int ends[2];
    remote *r = calloc(1, sizeof *r);
    if (r == NULL || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        free(r);
        return NULL;
    }
    posix_spawn_file_actions_t actions;
    int failed = posix_spawn_file_actions_init(&actions);
    if (!failed) {
        failed = posix_spawn_file_actions_adddup2(&actions, ends[1], STDIN_FILENO) ||
                 posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) ||
                 posix_spawnp(&r->pid, command[0], &actions, NULL, (char *const *)command, environ);
        posix_spawn_file_actions_destroy(&actions);
    }
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        free(r);
        return NULL;
    }
    r->socket = ends[0];
    return r;
}

static const struct {
    const char *level, *emulator, *variable;
} runners[] = {
    { "aarch64", "qemu-aarch64", "TALLY_TEST_AARCH64" },
    { "riscv64", "qemu-riscv64", "TALLY_TEST_RISCV64" },
};

remote *remote_open_level(const char *level)
{
    for (size_t i = 0; i < sizeof runners / sizeof *runners; i++) {
        const char *runner = getenv(runners[i].variable);
        if (strcmp(level, runners[i].level) == 0 && runner != NULL) {
            return remote_open((const char *[]){ runners[i].emulator, runner, NULL });
        }
    }
    return NULL;
}

void remote_close(remote *r)
{
    if (r == NULL) {
        return;
    }
    close(r->socket);
    while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    free(r);
}

static int send_case(int socket, const unsigned char *code, const remote_request *request,
                     const tly_args *args, const tly_task *tasks, const remote_region *regions)
{
    if (!send_all(socket, request, sizeof *request) || !send_all(socket, args, sizeof *args) ||
        !send_all(socket, tasks, request->task_count * sizeof *tasks)) {
        return 0;
    }
    for (uint64_t i = 0; i < request->region_count; i++) {
        remote_span span = { (uint64_t)(uintptr_t)regions[i].data, regions[i].bytes };
        if (!send_all(socket, &span, sizeof span)) {
            return 0;
        }
    }
    if (!send_all(socket, code, request->code_bytes)) {
        return 0;
    }
    for (uint64_t i = 0; i < request->region_count; i++) {
        if (!send_all(socket, regions[i].data, regions[i].bytes)) {
            return 0;
        }
    }
    return 1;
}

int remote_run(remote *r, const unsigned char *code, size_t code_bytes, const tly_args *args,
               const tly_task *tasks, size_t task_count, const remote_region *regions,
               size_t region_count, int64_t *results, uint64_t *fault)
{
    if (task_count > REMOTE_MAX_TASKS || region_count > REMOTE_MAX_REGIONS) {
        return REMOTE_REFUSED;
    }
    remote_request request = { REMOTE_MAGIC, code == NULL ? 0 : code_bytes, task_count,
                               region_count };
    remote_reply reply;
    if (!send_case(r->socket, code, &request, args, tasks, regions) ||
        !receive_all(r->socket, &reply, sizeof reply) || reply.magic != REMOTE_MAGIC ||
        reply.status > REMOTE_REFUSED) {
        return REMOTE_LOST;
    }
    if (fault != NULL) {
        *fault = reply.fault;
    }
    if (reply.status == REMOTE_REFUSED) {
        return REMOTE_REFUSED;
    }
    if (!receive_all(r->socket, results, task_count * sizeof *results)) {
        return REMOTE_LOST;
    }
    for (size_t i = 0; i < region_count; i++) {
        if (!receive_all(r->socket, regions[i].data, regions[i].bytes)) {
            return REMOTE_LOST;
        }
    }
    return (int)reply.status;
}
