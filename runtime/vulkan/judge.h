/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether a stored kernel says what a kernel of its key can say. A checksum finds damage; this
 * finds what somebody wrote on purpose or by a fault, as far as the record and the modules tell.
 */
#ifndef TLY_VK_JUDGE_H
#define TLY_VK_JUDGE_H

#include "../problem/gpu.h"

/* A launch record of this problem and plan. */
int tly_vk_launch_stands(const tly_gpu_launch *launch, const tly_problem *problem,
                         const tly_gpu_plan *plan);

/* A module of at least five words: its head, and instructions that end where it ends. */
int tly_vk_module_stands(const uint32_t *words, size_t count);

#endif
