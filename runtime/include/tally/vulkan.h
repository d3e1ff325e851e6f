/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vulkan: kernels on a device of the caller's, recorded into the caller's command buffers; or on
 * one that Tally opens itself. The only header with Vulkan types. For host memory alone none of
 * this is needed: tally_kernel_options.device = "vulkan" does it.
 *
 * Every handle belongs to the context that it was made with and must be destroyed before it.
 * Handles are thread-safe; Vulkan's own rules for what the caller passes (command buffers, queues)
 * are the caller's to keep. Sizes and offsets are bytes. After TALLY_DEVICE_LOST nothing runs any
 * more on that device, and everything can still be destroyed.
 */
#ifndef TALLY_VULKAN_H
#define TALLY_VULKAN_H

#include <tally/kernel.h>

#include <vulkan/vulkan_core.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_vulkan tally_vulkan;
typedef struct tally_vulkan_kernel tally_vulkan_kernel;
typedef struct tally_vulkan_buffer tally_vulkan_buffer;
typedef struct tally_vulkan_recording tally_vulkan_recording;

/* --- devices --------------------------------------------------------------------------------- */

/** A device of the caller's, which must outlive what is made of it. Kernels use only what
 *  `features` and `extensions` say was enabled: shaderInt64, shaderFloat64,
 *  storageBuffer16BitAccess, storageBuffer8BitAccess, shaderFloat16, bufferDeviceAddress,
 *  subgroupSizeControl, computeFullSubgroups; VK_KHR_shader_float_controls below Vulkan 1.2. */
typedef struct tally_vulkan_host {
    size_t size;
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    PFN_vkGetInstanceProcAddr get; /**< NULL: that of libvulkan */
    uint32_t api_version;          /**< of VkApplicationInfo; at least 1.1 */
    uint32_t extension_count;
    const char *const *extensions;             /**< enabled on the device; borrowed until return */
    const VkPhysicalDeviceFeatures2 *features; /**< with the chain of VkDeviceCreateInfo: Vulkan11,
                                         12, 13Features or single structs; NULL: none enabled */
    VkQueue queue;         /**< for run, submit, write and read; NULL: recording only */
    uint32_t queue_family; /**< of `queue`; must have compute */
    uint32_t reserved;     /**< must be 0 */
    void (*lock_queue)(void *user, int lock); /**< called with 1 before and 0 after a use of the
                                         queue, and around vkDeviceWaitIdle, which is called where
                                         the device is lost, or tally_vulkan_destroy could not
                                         wait otherwise; NULL: the queue is Tally's alone */
    void *lock_user;
    const VkAllocationCallbacks *allocator; /**< for what Tally makes of the device; copied; what it
                                         calls must outlive the handle. NULL: the driver's own */
    VkPipelineCache pipeline_cache; /**< for Tally's pipelines, from several threads at once; what
                                         is in it the host keeps. VK_NULL_HANDLE: none */
    uint64_t debug_utils; /**< 1: VK_EXT_debug_utils is enabled on the instance. Recordings are
                                         labelled then, and pipelines named, with the word without
                                         sizes */
} tally_vulkan_host;

#define TALLY_VULKAN_HOST_INIT \
    { sizeof(tally_vulkan_host), \
      VK_NULL_HANDLE, \
      VK_NULL_HANDLE, \
      VK_NULL_HANDLE, \
      NULL, \
      0, \
      0, \
      NULL, \
      NULL, \
      VK_NULL_HANDLE, \
      0, \
      0, \
      NULL, \
      NULL, \
      NULL, \
      VK_NULL_HANDLE, \
      0 }

/** Takes over a device of the caller's, without owning it. TALLY_UNSUPPORTED names what is too old
 *  or missing. */
TALLY_API tally_status tally_vulkan_adopt(tally_context *context, const tally_vulkan_host *host,
                                          tally_vulkan **vulkan, tally_error *error);

/**
 * Opens a device with an instance and a queue of its own. `device` is NULL (discrete before
 * integrated before virtual; never a CPU), "vulkan" (the same, then a CPU that plays a device),
 * "vulkan:N" as tally_devices lists them, or a part of a name. TALLY_UNSUPPORTED if nothing answers
 * to a selector, or libvulkan is missing.
 */
TALLY_API tally_status tally_vulkan_open(tally_context *context, const char *device,
                                         tally_vulkan **vulkan, tally_error *error);

/** Waits for what was submitted, frees the device (one of the caller's lives on) and sets *vulkan
 *  to NULL. Kernels, buffers and recordings must be destroyed before. NULL is valid. The wait has
 *  no time limit. Where neither fences nor vkDeviceWaitIdle tell that the device is idle, nothing
 *  of it is freed. */
TALLY_API void tally_vulkan_destroy(tally_vulkan **vulkan);

/**
 * Waits until all that was submitted through this handle before the call is done. Other threads can
 * use the handle meanwhile, and signal what is waited for. A wait that fails for want of memory
 * goes on by asking; an error means that what was submitted may still be at work.
 */
TALLY_API tally_status tally_vulkan_wait(tally_vulkan *vulkan, tally_error *error);

/** The same, for `nanoseconds` at most: 0 only asks, UINT64_MAX has no end. TALLY_TIMEOUT if they
 *  passed: what was submitted goes on, and can be waited for again. */
TALLY_API tally_status tally_vulkan_wait_for(tally_vulkan *vulkan, uint64_t nanoseconds,
                                             tally_error *error);

/**
 * From now on, tally_vulkan_run, tally_vulkan_time, tally_vulkan_time_copy,
 * tally_vulkan_buffer_write and tally_vulkan_buffer_read wait `nanoseconds` at most, a call;
 * UINT64_MAX, as at first: without end. After TALLY_TIMEOUT they have let go of the host's memory,
 * but the device may still be at work on its buffers, until tally_vulkan_wait says that it is not.
 * If the device is NULL, nothing happens.
 */
TALLY_API void tally_vulkan_limit_waits(tally_vulkan *vulkan, uint64_t nanoseconds);

/** The handles behind a device, for programs that go on with them. */
typedef struct tally_vulkan_handles {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family;
} tally_vulkan_handles;

/** Fills *handles, with zeros if the device is NULL. If `handles` is NULL, nothing happens. */
TALLY_API void tally_vulkan_info(const tally_vulkan *vulkan, tally_vulkan_handles *handles);

/* --- kernels --------------------------------------------------------------------------------- */

/** Makes or finds the kernel for a descriptor. Of `options` (may be NULL), `device` and `profile`
 *  must be NULL. Errors as tally_kernel_create. */
TALLY_API tally_status tally_vulkan_kernel_create(tally_vulkan *vulkan,
                                                  const tally_descriptor *descriptor,
                                                  const tally_kernel_options *options,
                                                  tally_vulkan_kernel **kernel, tally_error *error);

/** Gives the kernel back and sets *kernel to NULL; recordings live on. NULL is valid. */
TALLY_API void tally_vulkan_kernel_destroy(tally_vulkan_kernel **kernel);

typedef struct tally_vulkan_facts {
    size_t size;
    uint64_t scratch_bytes;   /**< of tally_vulkan_buffers.scratch; 0: none */
    int64_t in_low, in_end;   /**< bytes read, from element 0: [in_low, in_end) */
    int64_t out_low, out_end; /**< ... written */
    uint32_t passes;          /**< modules; 0 if the tensor is empty */
    uint32_t dispatches;
    uint32_t addresses; /**< 1: goes by device addresses, 0: by descriptors */
    char template_name[16];
} tally_vulkan_facts;

#define TALLY_VULKAN_FACTS_INIT { sizeof(tally_vulkan_facts), 0, 0, 0, 0, 0, 0, 0, 0, { 0 } }

/** Fills *facts, whose `size` the caller has set, with zeros if the kernel is NULL. If `facts` is
 *  NULL, nothing happens. */
TALLY_API void tally_vulkan_kernel_facts(const tally_vulkan_kernel *kernel,
                                         tally_vulkan_facts *facts);

/** Where element 0 of a tensor, or the scratch, is. The buffer needs STORAGE_BUFFER usage (scratch:
 *  TRANSFER_DST, too; a kernel that goes by addresses: SHADER_DEVICE_ADDRESS), and a size that is a
 *  multiple of 4. */
typedef struct tally_vulkan_range {
    VkBuffer buffer;
    uint64_t offset;         /**< of element 0, a multiple of its size; of scratch: of 16 */
    uint64_t bytes;          /**< of the whole buffer */
    VkDeviceAddress address; /**< of the whole buffer; 0: asked of Vulkan where it is needed */
} tally_vulkan_range;

typedef struct tally_vulkan_buffers {
    size_t size;
    tally_vulkan_range in, out, scratch;
} tally_vulkan_buffers;

#define TALLY_VULKAN_RANGE_INIT { VK_NULL_HANDLE, 0, 0, 0 }
#define TALLY_VULKAN_BUFFERS_INIT \
    { sizeof(tally_vulkan_buffers), TALLY_VULKAN_RANGE_INIT, TALLY_VULKAN_RANGE_INIT, \
      TALLY_VULKAN_RANGE_INIT }

/**
 * Records the kernel into a command buffer that is in the recording state, outside a render pass:
 * dispatches, push constants, and the barriers between its own passes. Barriers before (input and
 * scratch must be free and visible to compute shaders and transfers) and after are the caller's.
 * *recording holds what the command buffer refers to: it must be NULL or a recording whose command
 * buffers are completed and not used again, and lives until that is so. TALLY_INVALID for ranges
 * that are too small, misaligned or overlap; then nothing is recorded.
 */
TALLY_API tally_status tally_vulkan_record(const tally_vulkan_kernel *kernel,
                                           VkCommandBuffer commands,
                                           const tally_vulkan_buffers *buffers,
                                           tally_vulkan_recording **recording, tally_error *error);

/** Sets *recording to NULL; NULL is valid. */
TALLY_API void tally_vulkan_recording_destroy(tally_vulkan_recording **recording);

/** Semaphores around a submission; VK_NULL_HANDLE: none. Values are for timeline semaphores. */
typedef struct tally_vulkan_sync {
    size_t size;
    VkSemaphore wait;
    uint64_t wait_value;
    VkSemaphore signal;
    uint64_t signal_value;
} tally_vulkan_sync;

#define TALLY_VULKAN_SYNC_INIT { sizeof(tally_vulkan_sync), VK_NULL_HANDLE, 0, VK_NULL_HANDLE, 0 }

/** Submits the kernel on device buffers and returns at once; `sync` may be NULL. Writes are visible
 *  to later submissions of the queue's compute and transfer work. With scratch.buffer NULL, scratch
 *  is Tally's. */
TALLY_API tally_status tally_vulkan_submit(const tally_vulkan_kernel *kernel,
                                           const tally_vulkan_buffers *buffers,
                                           const tally_vulkan_sync *sync, tally_error *error);

/** Runs on host memory and waits, as tally_kernel_run. */
TALLY_API tally_status tally_vulkan_run(const tally_vulkan_kernel *kernel, const void *in,
                                        void *out, tally_error *error);

/* --- timing ---------------------------------------------------------------------------------- */

/** Runs the kernel on device buffers, alone, waits, and tells the seconds that it took by the
 *  device's clock. Scratch as for tally_vulkan_submit. TALLY_UNSUPPORTED if the queue has no
 *  timestamps. */
TALLY_API tally_status tally_vulkan_time(const tally_vulkan_kernel *kernel,
                                         const tally_vulkan_buffers *buffers, double *seconds,
                                         tally_error *error);

/** The same for the device's own copy of `bytes` bytes; buffers of tally_vulkan_buffer_create, or
 *  with TRANSFER_SRC and TRANSFER_DST usage. */
TALLY_API tally_status tally_vulkan_time_copy(tally_vulkan *vulkan, const tally_vulkan_range *from,
                                              const tally_vulkan_range *to, uint64_t bytes,
                                              double *seconds, tally_error *error);

/* --- buffers --------------------------------------------------------------------------------- */

/** Memory of the device, for tensors and scratch; at least `bytes`, not initialised.
 *  TALLY_OUT_OF_MEMORY names the size and the limit. */
TALLY_API tally_status tally_vulkan_buffer_create(tally_vulkan *vulkan, size_t bytes,
                                                  tally_vulkan_buffer **buffer, tally_error *error);

/** After all of the caller's own that uses it is done; what was submitted through this device is
 *  waited for in the background. Sets *buffer to NULL. NULL is valid. */
TALLY_API void tally_vulkan_buffer_destroy(tally_vulkan_buffer **buffer);

/** Fills *range for tally_vulkan_buffers, with offset 0; with zeros if the buffer is NULL. If `range`
 *  is NULL, nothing happens. */
TALLY_API void tally_vulkan_buffer_info(const tally_vulkan_buffer *buffer,
                                        tally_vulkan_range *range);

/** Copies host memory to the buffer, or back, and waits. Work that uses the buffer must be done. */
TALLY_API tally_status tally_vulkan_buffer_write(tally_vulkan_buffer *buffer, uint64_t offset,
                                                 const void *from, size_t bytes,
                                                 tally_error *error);
TALLY_API tally_status tally_vulkan_buffer_read(tally_vulkan_buffer *buffer, uint64_t offset,
                                                void *to, size_t bytes, tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
