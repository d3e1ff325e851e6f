/* SPDX-License-Identifier: Apache-2.0 */
/* A file in memory, as what reads .npy headers sees one. Behind the headers of tools/. */
#ifndef MEMORY_FILE_H
#define MEMORY_FILE_H

typedef struct memory_file {
    const char *at;
    size_t left;
} memory_file;

static int pull_memory(void *user, void *to, size_t bytes, tly_report *report)
{
    memory_file *file = user;
    if (bytes > file->left) {
        return tly_refuse(report, EXIT_FILE, "file", "it ends");
    }
    memcpy(to, file->at, bytes);
    file->at += bytes;
    file->left -= bytes;
    return EXIT_DONE;
}

#endif
