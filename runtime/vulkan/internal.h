/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The insides of the Vulkan part: a device with what it shares among kernels, kernels, and what a
 * run needs. Loading, facts and memory have headers of their own; launch/dispatches.h is the
 * arithmetic of launches.
 *
 *   device.c     what all devices have; open.c: our own; adopt.c: the caller's; list.c: which exist
 *   memory.c     pieces of device memory; heap.c: pieces of a block; buffer.c: buffers
 *   pipelines.c  what the driver made of modules, on disk; label.c: names for debuggers
 *   judge.c      checks what is stored; plan.c: plans; object.c: pipelines, made once a key
 *   kernel.c     handles; record.c: dispatches; sets.c: descriptor sets
 *   slot.c       command buffers and what they need; flight.c: submits them, and waits for them
 *   transfer.c   between host and device; status.c: from Vulkan's results to ours
 *   run.c        runs on host memory; use.c: on the caller's buffers; door.c: what the context sees
 */
#ifndef TLY_VK_INTERNAL_H
#define TLY_VK_INTERNAL_H

#include "../context/backend.h"
#include "../launch/dispatches.h"
#include "facts.h"
#include "heap.h"

#include <tally/vulkan.h>

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

/* Pipelines for one key, shared by the kernels of that key. */
typedef struct tly_vk_object {
    tly_object base;
    tly_gpu_launch launch;
    VkPipelineLayout layout; /* the device's */
    VkPipeline pipeline[TLY_GPU_PASSES];
} tly_vk_object;

/* Layouts of descriptor sets, by the number of tensors behind the output, and a set of each from
 * one pool. */
enum { TLY_VK_LAYOUTS = TLY_GPU_OPERANDS + 1 };

typedef struct tly_vk_sets {
    VkDescriptorPool pool; /* VK_NULL_HANDLE: there are none */
    VkDescriptorSet set[TLY_VK_LAYOUTS];
} tly_vk_sets;

/* Device memory, which buffers take in pieces; see memory.h. */
#define TLY_VK_BLOCK (UINT64_C(64) << 20)

typedef struct tly_vk_block {
    VkDeviceMemory memory;
    char *mapped; /* NULL: the host does not see it */
    uint32_t type;
    int alone; /* of one piece, freed with it */
    tly_heap heap;
    struct tly_vk_block *next;
} tly_vk_block;

typedef struct tly_vk_memory {
    pthread_mutex_t lock;
    uint64_t block_bytes; /* TLY_VK_BLOCK; tests take less */
    tly_vk_block *blocks;
} tly_vk_memory;

typedef struct tly_vk_piece {
    tly_vk_block *block; /* NULL: none */
    uint64_t offset, bytes;
} tly_vk_piece;

struct tally_vulkan_buffer {
    tally_vulkan *vulkan;
    VkBuffer buffer;
    tly_vk_piece piece;
    uint64_t bytes;
    VkDeviceAddress address; /* 0 without addresses */
    uint64_t serial;         /* destroyed, but the pending slots up to this one may use it */
    struct tally_vulkan_buffer *next;
};

/* What one run in flight holds; kept for the next. */
typedef struct tly_vk_slot {
    VkCommandPool pool;
    VkCommandBuffer commands;
    VkFence fence;
    tly_vk_sets sets;
    VkQueryPool queries; /* two timestamps, made for the first who asks */
    tally_vulkan_buffer tensor[TLY_TENSOR_COUNT], scratch, staging;
    tly_vk_object *object; /* held while the slot is taken or pending; NULL: none */
    uint64_t until;        /* end of the waits of the call that took it; see tly_vk_until */
    int in_flight;         /* submitted, and not known to be done */
    /* Of pending ones, guarded by slot_lock: */
    uint64_t serial;  /* counts up */
    uint32_t waiters; /* threads that wait for the fence, without the lock */
    struct tly_vk_slot *next;
} tly_vk_slot;

struct tally_vulkan {
    tally_context *context;
    tly_vk_facts facts;
    tly_vk_instance_functions instance_fn;
    tly_vk_functions fn;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue; /* NULL: record only */
    uint32_t family;
    int owned;                              /* instance and device are ours */
    int debug_utils;                        /* VK_EXT_debug_utils is enabled */
    VkAllocationCallbacks callbacks;        /* the host's, if it has some */
    const VkAllocationCallbacks *allocator; /* these; NULL: the driver's own */
    VkPipelineCache pipelines;              /* NULL: none */
    size_t pipeline_bytes;                  /* of those on disk; guarded by pipeline_lock */
    unsigned pipelines_made;                /* since it was opened; the same */
    pthread_mutex_t pipeline_lock;
    int staged; /* 1: the host does not write device memory */
    void (*lock_queue)(void *user, int lock);
    void *lock_user;
    atomic_int lost;
    atomic_int stopped;     /* nothing is in flight and nothing will be; lost devices and at the
                                 end */
    _Atomic uint64_t limit; /* nanoseconds that a blocking call waits; UINT64_MAX: no limit */
    pid_t pid;
    int complete; /* all functions were found */
    int left;     /* closed while it was at work: nothing of it may be freed any more */
    pthread_mutex_t queue_lock, slot_lock, lost_lock;
    tly_vk_memory memory;
    uint32_t layouts; /* how many the device has storage buffers for */
    VkDescriptorSetLayout set_layout[TLY_VK_LAYOUTS];
    VkPipelineLayout buffer_layout[TLY_VK_LAYOUTS], address_layout;
    tly_vk_slot *slots;           /* free ones */
    tly_vk_slot *pending;         /* in flight, latest first, left by the calls that took them */
    uint64_t serial;              /* of the latest pending slot so far */
    tally_vulkan_buffer *orphans; /* destroyed while slots were pending */
};

struct tally_vulkan_kernel {
    tally_vulkan *vulkan;
    tly_vk_object *object; /* NULL if empty */
    tly_gpu_steps steps;
    tly_problem problem;
    tly_geometry geometry;
    tly_rules rules;
    uint32_t flags; /* for every dispatch, beside its own; 0 but where tests stall tiles */
    char *word;     /* runs are told; NULL: they are not */
};

/* 0 in a child that was forked after the device was opened: nothing of Vulkan may be called. */
static inline int tly_vk_alive(const tally_vulkan *v)
{
    return v->pid == getpid();
}

/* device.c: one without a device yet; NULL without memory. */
tally_vulkan *tly_vk_allocate(tally_context *context, tally_error *error);
/* device.c: the functions and layouts of v->device. */
tally_status tly_vk_complete(tally_vulkan *v, tally_error *error);

/* status.c: the status for a Vulkan error of a device or the loader, naming `what`. */
tally_status tly_vk_report(const char *device, VkResult result, const char *what,
                           tally_error *error);

/* status.c: the same; a device that is lost is waited for, and remembered. Not with queue_lock
 * held. */
tally_status tly_vk_fail(tally_vulkan *v, VkResult result, const char *what, tally_error *error);

/* status.c: TALLY_DEVICE_LOST if the device is gone, or was opened before a fork. */
tally_status tly_vk_usable(tally_vulkan *v, tally_error *error);

/* device.c: frees the device with all that it owns; NULL is valid. */
void tly_vk_close(tally_vulkan *v);

/* list.c: an instance of ours with its physical devices that have compute, in a stable order. */
enum { TLY_VK_DEVICES = 64 };
typedef struct tly_vk_list {
    tly_vk_instance_functions fn;
    VkInstance instance;
    size_t count;
    VkPhysicalDevice physical[TLY_VK_DEVICES];
    tly_vk_facts facts[TLY_VK_DEVICES];
} tly_vk_list;
tally_status tly_vk_list_open(tly_vk_list **list, tally_error *error);
void tly_vk_list_close(tly_vk_list *list);

/* list.c: the index that a selector or a part of a name chooses; NULL is the best GPU. */
tally_status tly_vk_choose(const tly_vk_list *list, const char *device, size_t *index,
                           tally_error *error);

/* open.c: a device of ours; takes the instance out of the list. */
tally_status tly_vk_open(tally_context *context, tly_vk_list *list, size_t index,
                         tally_vulkan **vulkan, tally_error *error);

/* plan.c: the plan for a request, by the generator or, where there is none, libtally itself;
 * *lasting: whether it may be stored. */
tally_status tly_vk_plan_make(tally_context *context, const tly_request *request,
                              tly_gpu_plan *plan, int *lasting, tally_error *error);

/* plan.c: the same, from memory or disk where it is there. */
tally_status tly_vk_plan_get(const tally_vulkan *v, const tly_request *request, tly_gpu_plan *plan,
                             tally_error *error);

/* object.c: pipelines from the context's cache; the caller gets a reference. */
tally_status tly_vk_object_supports(tally_vulkan *v, const tly_problem *problem,
                                    const tly_gpu_plan *plan, tally_error *error);
tally_status tly_vk_object_get(tally_vulkan *v, const tly_problem *problem,
                               const tly_gpu_plan *plan, tly_vk_object **object, tly_origin *origin,
                               tally_error *error);
void tly_vk_object_drop(tally_vulkan *v, tly_vk_object *object);
const tly_gpu_plan *tly_vk_object_plan(const tly_vk_object *object);

/* pipelines.c: of a device of ours; what is on disk, after a pipeline was made, at the end. */
void tly_vk_pipelines_open(tally_vulkan *v);
void tly_vk_pipelines_made(tally_vulkan *v);
void tly_vk_pipelines_close(tally_vulkan *v);

/* label.c: names for tools that show command buffers, unless they are off. */
void tly_vk_labels_off(tally_vulkan *v);
void tly_vk_label_begin(const tally_vulkan_kernel *k, VkCommandBuffer commands);
void tly_vk_label_end(const tally_vulkan_kernel *k, VkCommandBuffer commands);
void tly_vk_label_pipeline(const tally_vulkan *v, VkPipeline pipeline, const char *name);

/* kernel.c: tells what happened with a kernel ("run" and so on), unless there is nobody to tell. */
void tly_vk_tell(const tally_vulkan_kernel *k, const char *what, uint64_t nanoseconds);

/* buffer.c: memory for a buffer; `host` 1: mapped, for staging. *buffer is zero on failure. */
tally_status tly_vk_buffer_make(tally_vulkan *v, uint64_t bytes, int host,
                                tally_vulkan_buffer *buffer, tally_error *error);
void tly_vk_buffer_end(tally_vulkan_buffer *buffer);

/* record.c: where a tensor or the scratch is. */
typedef struct tly_vk_place {
    VkBuffer buffer;         /* VK_NULL_HANDLE: the run lacks it */
    VkDeviceAddress address; /* of the buffer's start */
    int64_t offset;          /* bytes from the buffer's start to element 0 */
} tly_vk_place;
typedef struct tly_vk_places {
    tly_vk_place tensor[TLY_TENSOR_COUNT], scratch;
} tly_vk_places;

/* sets.c: the layouts of a device, and what is there of them ends. */
tally_status tly_vk_layouts_make(tally_vulkan *v, tally_error *error);
void tly_vk_layouts_end(tally_vulkan *v);
/* sets.c: the layout that a kernel's pipelines have. */
VkPipelineLayout tly_vk_layout_of(const tally_vulkan *v, const tly_problem *problem,
                                  const tly_gpu_launch *launch);
/* sets.c: the sets of the buffer form. On failure *sets has no pool. */
tally_status tly_vk_sets_make(tally_vulkan *v, tly_vk_sets *sets, tally_error *error);
/* sets.c: writes a kernel's set, and returns which it is. */
VkDescriptorSet tly_vk_set_write(const tally_vulkan_kernel *k, const tly_vk_sets *sets,
                                 const tly_vk_places *places, tly_gpu_bases *bases);
/* record.c: writes a set (buffer form) and records dispatches with the barriers between. */
void tly_vk_record(const tally_vulkan_kernel *k, VkCommandBuffer commands, const tly_vk_sets *sets,
                   const tly_vk_places *places);

/* record.c: a global barrier. */
void tly_vk_barrier(const tally_vulkan *v, VkCommandBuffer commands, VkPipelineStageFlags from,
                    VkAccessFlags written, VkPipelineStageFlags to, VkAccessFlags access);

/* use.c: the kernel on device buffers between barriers against what may come before and after. */
tally_status tly_vk_record_alone(const tally_vulkan_kernel *k, tly_vk_slot *slot,
                                 const tally_vulkan_buffers *buffers, tally_error *error);

/* slot.c: a slot whose command buffer has begun. It holds `object` (NULL: none), which its commands
 * use, until it is free again. */
tally_status tly_vk_slot_take(tally_vulkan *v, tly_vk_object *object, tly_vk_slot **slot,
                              tally_error *error);
/* slot.c: a slot in flight becomes pending; another is kept for the next call, or freed (`keep` 0)
 * where its state is unknown. */
void tly_vk_slot_give(tally_vulkan *v, tly_vk_slot *slot, int keep);
/* slot.c: not one in flight. */
void tly_vk_slot_free(tally_vulkan *v, tly_vk_slot *slot);
/* slot.c: begins the commands anew. */
tally_status tly_vk_slot_begin(tally_vulkan *v, tly_vk_slot *slot, tally_error *error);
/* slot.c: makes slot->queries, unless there are some. */
tally_status tly_vk_slot_queries(tally_vulkan *v, tly_vk_slot *slot, tally_error *error);

/* slot.c: a buffer of the slot that holds at least `bytes`. */
tally_status tly_vk_slot_buffer(tally_vulkan *v, tally_vulkan_buffer *buffer, uint64_t bytes,
                                int host, tally_error *error);

/* flight.c: when `nanoseconds` from now have passed, by CLOCK_MONOTONIC; UINT64_MAX: never. */
uint64_t tly_vk_until(uint64_t nanoseconds);
/* flight.c: submits what the slot's commands hold; `sync` may be NULL. */
tally_status tly_vk_slot_submit(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_sync *sync,
                                tally_error *error);
/* flight.c: submits, waits until slot->until, and begins the commands anew. */
tally_status tly_vk_slot_finish(tally_vulkan *v, tly_vk_slot *slot, tally_error *error);
/* flight.c: with slot_lock held: pending slots that are done are free again, and so are the buffers
 * that waited for them. VK_ERROR_DEVICE_LOST, or VK_SUCCESS. */
VkResult tly_vk_slots_reap(tally_vulkan *v);
/* flight.c: waits, without a lock, for what is pending now. */
tally_status tly_vk_slots_wait(tally_vulkan *v, uint64_t until, tally_error *error);
/* flight.c: waits for what is pending, and frees all slots and buffers that were left. Returns 0 if
 * Vulkan did not tell that the device is idle: then nothing of it may be freed. */
int tly_vk_slots_end(tally_vulkan *v);
/* flight.c: frees a buffer of the caller's when no pending slot may use it any more. */
void tly_vk_buffer_leave(tally_vulkan_buffer *buffer);
/* flight.c: whether vkDeviceWaitIdle says that nothing is in flight; a lost device has stopped when
 * it returns. */
int tly_vk_idle(tally_vulkan *v);

/* Where the elements of a tensor lie: `rank` dims of runs. Directions do not matter to a copy. */
typedef struct tly_vk_layout {
    int64_t low, run; /* bytes: of the first run from element 0; of each run */
    int32_t rank;     /* 0: one run, without gaps */
    int64_t size[TALLY_MAX_RANK + 1], stride[TALLY_MAX_RANK + 1]; /* outermost first; bytes */
} tly_vk_layout;

/* transfer.c */
void tly_vk_layout_read(const tly_problem *p, const tly_geometry *g, int tensor, size_t element,
                        tly_vk_layout *layout);

/* transfer.c: one run of bytes to a buffer and back; a tensor's elements (whose first byte is `at`
 * in the buffer, and whose element 0 is at `from` or `to` in memory). Commands are recorded and
 * submitted where the host does not see the buffer. */
tally_status tly_vk_upload(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                           uint64_t at, const void *from, uint64_t bytes, tally_error *error);
tally_status tly_vk_download(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                             uint64_t at, void *to, uint64_t bytes, tally_error *error);
tally_status tly_vk_upload_tensor(tally_vulkan *v, tly_vk_slot *slot, const tally_vulkan_buffer *b,
                                  uint64_t at, const tly_vk_layout *layout, uint64_t bytes,
                                  const void *from, tally_error *error);
tally_status tly_vk_download_tensor(tally_vulkan *v, tly_vk_slot *slot,
                                    const tally_vulkan_buffer *b, uint64_t at,
                                    const tly_vk_layout *layout, uint64_t bytes, void *to,
                                    tally_error *error);

#endif
