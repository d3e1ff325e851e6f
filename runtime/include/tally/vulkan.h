/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vulkan: kernels on a device of the caller, recorded into the caller's command buffers, or on a
 * device that Tally opens itself. This is the only header with Vulkan types. A program that only
 * has tensors in host memory does not need it: tally_kernel_options.device = "vulkan" suffices.
 *
 * Every handle belongs to the context that it was made with, and must be destroyed before it. All
 * sizes and offsets are in bytes.
 *
 * All calls are thread-safe for Tally's handles. Vulkan's own rules apply to the caller's objects,
 * such as command buffers and queues, and the caller must keep them. After TALLY_DEVICE_LOST no
 * call runs anything on that device. All handles can still be destroyed.
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

/**
 * A device of the caller. It must outlive everything that Tally makes on it.
 *
 * Kernels use only features and extensions that `features` and `extensions` list as enabled. The
 * features that they can use are shaderInt64, shaderFloat64, storageBuffer16BitAccess,
 * storageBuffer8BitAccess, shaderFloat16, bufferDeviceAddress, subgroupSizeControl and
 * computeFullSubgroups. The extension is VK_KHR_shader_float_controls, if Vulkan is below 1.2.
 */
typedef struct tally_vulkan_host {
    size_t size; /**< sizeof(tally_vulkan_host) */
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    PFN_vkGetInstanceProcAddr get; /**< the loader's entry; NULL: that of libvulkan */
    uint32_t api_version;          /**< as in VkApplicationInfo; at least 1.1 */
    uint32_t extension_count;      /**< number of elements of `extensions` */
    const char *const *extensions; /**< those enabled on the device; borrowed until return */
    const VkPhysicalDeviceFeatures2 *features; /**< those enabled, with the chain of
                                                    VkDeviceCreateInfo: Vulkan11Features, 12, 13 or
                                                    single structs; NULL: none is enabled */
    VkQueue queue;         /**< for run, submit, time, write and read; NULL: only recording works */
    uint32_t queue_family; /**< the family of `queue`; it must support compute */
    uint32_t reserved;     /**< must be 0 */
    void (*lock_queue)(void *user, int lock); /**< Tally calls it with 1 before and 0 after each use
                                                   of the queue, and around vkDeviceWaitIdle. Tally
                                                   calls vkDeviceWaitIdle if the device is lost, or
                                                   if tally_vulkan_destroy cannot wait otherwise.
                                                   NULL: only Tally uses the queue */
    void *lock_user;                          /**< passed to `lock_queue` as `user` */
    const VkAllocationCallbacks *allocator; /**< for the Vulkan objects that Tally makes. The struct
                                                 is copied; its functions must outlive the handle.
                                                 NULL: the driver's own */
    VkPipelineCache pipeline_cache; /**< for Tally's pipelines; several threads use it at once. The
                                         host stores its contents. VK_NULL_HANDLE: none */
    uint64_t debug_utils;           /**< 1: VK_EXT_debug_utils is enabled on the instance. Then
                                         recordings are labelled and pipelines are named with the
                                         word without sizes */
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

/** Makes a handle for a device of the caller, which stays the caller's. The handle is destroyed
 *  with tally_vulkan_destroy. Returns TALLY_UNSUPPORTED if the device or driver is too old or lacks
 *  something; the message names it. */
TALLY_API tally_status tally_vulkan_adopt(tally_context *context, const tally_vulkan_host *host,
                                          tally_vulkan **vulkan, tally_error *error);

/**
 * Opens a device, with an instance and a queue that belong to the handle. The handle is destroyed
 * with tally_vulkan_destroy. `device` selects the device:
 *
 * - NULL: a discrete GPU, else an integrated one, else a virtual one; never a software device;
 * - "vulkan": the same, with a software device (a CPU) as the last choice;
 * - "vulkan:N": the device of that number, as tally_devices lists them;
 * - any other text: the device with this text in its name.
 *
 * Returns TALLY_UNSUPPORTED if no device matches, or libvulkan is missing.
 */
TALLY_API tally_status tally_vulkan_open(tally_context *context, const char *device,
                                         tally_vulkan **vulkan, tally_error *error);

/**
 * Waits for all submitted work, frees the device and sets *vulkan to NULL. A device of the caller
 * is not freed. Kernels and buffers must be destroyed before, and so must recordings. NULL is
 * valid.
 *
 * The wait has no time limit. If neither fences nor vkDeviceWaitIdle can show that the device is
 * idle, nothing on it is freed.
 */
TALLY_API void tally_vulkan_destroy(tally_vulkan **vulkan);

/**
 * Waits until all work is done that was submitted through this handle before the call. Other
 * threads can use the handle during the wait; they can also signal a semaphore that the work waits
 * for.
 *
 * If the wait fails because memory is short, Tally polls instead. If the call returns an error, the
 * submitted work may still be in progress.
 */
TALLY_API tally_status tally_vulkan_wait(tally_vulkan *vulkan, tally_error *error);

/** Waits as tally_vulkan_wait, for at most `nanoseconds`: 0 only tests, UINT64_MAX has no limit.
 *  Returns TALLY_TIMEOUT if the time has passed. Then the work goes on, and a later call can wait
 *  for it. */
TALLY_API tally_status tally_vulkan_wait_for(tally_vulkan *vulkan, uint64_t nanoseconds,
                                             tally_error *error);

/**
 * Limits the waits of all later calls of tally_vulkan_run, tally_vulkan_time,
 * tally_vulkan_time_copy, tally_vulkan_buffer_write and tally_vulkan_buffer_read to `nanoseconds`
 * for each call. UINT64_MAX, the initial value, means no limit.
 *
 * A call that reaches the limit returns TALLY_TIMEOUT. It does not use the host's memory any more.
 * The device may still use its buffers until a tally_vulkan_wait succeeds. If `vulkan` is NULL, the
 * call does nothing.
 */
TALLY_API void tally_vulkan_limit_waits(tally_vulkan *vulkan, uint64_t nanoseconds);

/** The Vulkan handles of a device, for programs that use them directly. They stay Tally's or the
 *  caller's, as before. */
typedef struct tally_vulkan_handles {
    VkInstance instance;
    VkPhysicalDevice physical;
    VkDevice device;
    VkQueue queue;
    uint32_t queue_family;
} tally_vulkan_handles;

/** Fills *handles, with zeros if `vulkan` is NULL. If `handles` is NULL, the call does nothing. */
TALLY_API void tally_vulkan_info(const tally_vulkan *vulkan, tally_vulkan_handles *handles);

/* --- kernels --------------------------------------------------------------------------------- */

/** Creates the kernel for a descriptor on a device. The caller destroys it with
 *  tally_vulkan_kernel_destroy. `options` may be NULL; its `device` and `profile` must be NULL.
 *  Errors are those of tally_kernel_create. */
TALLY_API tally_status tally_vulkan_kernel_create(tally_vulkan *vulkan,
                                                  const tally_descriptor *descriptor,
                                                  const tally_kernel_options *options,
                                                  tally_vulkan_kernel **kernel, tally_error *error);

/** Destroys the kernel and sets *kernel to NULL. Recordings of it stay valid. NULL is valid. */
TALLY_API void tally_vulkan_kernel_destroy(tally_vulkan_kernel **kernel);

/** What a program must know of a kernel to allocate buffers for it. */
typedef struct tally_vulkan_facts {
    size_t size;              /**< sizeof(tally_vulkan_facts) */
    uint64_t scratch_bytes;   /**< needed in tally_vulkan_buffers.scratch; 0: none */
    int64_t in_low, in_end;   /**< the bytes that are read: [in_low, in_end), from element 0 */
    int64_t out_low, out_end; /**< the bytes that are written, likewise */
    uint32_t passes;          /**< number of SPIR-V modules; 0 if the tensor is empty */
    uint32_t dispatches;      /**< number of dispatches of one run */
    uint32_t addresses;       /**< 1: it uses buffer device addresses; 0: descriptor sets */
    char template_name[16];   /**< the template that the kernel was made from */
    /** the bytes that are read of operands a, b, c and d, likewise; zeros for one that the kernel
     *  does not have */
    int64_t operand_low[TALLY_MAX_OPERANDS], operand_end[TALLY_MAX_OPERANDS];
} tally_vulkan_facts;

#define TALLY_VULKAN_FACTS_INIT \
    { sizeof(tally_vulkan_facts), 0, 0, 0, 0, 0, 0, 0, 0, { 0 }, { 0 }, { 0 } }

/** Fills *facts, with zeros if `kernel` is NULL. The caller has set its `size`. If `facts` is NULL,
 *  the call does nothing. */
TALLY_API void tally_vulkan_kernel_facts(const tally_vulkan_kernel *kernel,
                                         tally_vulkan_facts *facts);

/**
 * The place of a tensor, or of the scratch memory, in a buffer. The buffer's size must be a
 * multiple of 4. It needs STORAGE_BUFFER usage. Scratch also needs TRANSFER_DST usage. If the
 * kernel uses addresses (tally_vulkan_facts.addresses), it also needs SHADER_DEVICE_ADDRESS usage.
 */
typedef struct tally_vulkan_range {
    VkBuffer buffer;
    uint64_t offset;         /**< where element 0 is: a multiple of its size; for scratch, of 16 */
    uint64_t bytes;          /**< size of the whole buffer */
    VkDeviceAddress address; /**< address of the whole buffer; 0: Tally queries it if needed */
} tally_vulkan_range;

/** The buffers of one run. The kernel looks at the ranges of the tensors that it has; those of the
 *  others should be zero (TALLY_VULKAN_RANGE_INIT). */
typedef struct tally_vulkan_buffers {
    size_t size; /**< sizeof(tally_vulkan_buffers) */
    tally_vulkan_range in, out, scratch;
    tally_vulkan_range operand[TALLY_MAX_OPERANDS]; /**< the operands a, b, c and d */
    tally_vulkan_range offsets; /**< where segments begin and end; clamped to the axis */
    /** words with a carry: the states before the first elements, or zeros, and room for those after
     *  the last elements (tally_descriptor_carry); both may be the same range */
    tally_vulkan_range carry_in, carry_out;
} tally_vulkan_buffers;

#define TALLY_VULKAN_RANGE_INIT { VK_NULL_HANDLE, 0, 0, 0 }
#define TALLY_VULKAN_BUFFERS_INIT \
    { sizeof(tally_vulkan_buffers), \
      TALLY_VULKAN_RANGE_INIT, \
      TALLY_VULKAN_RANGE_INIT, \
      TALLY_VULKAN_RANGE_INIT, \
      { TALLY_VULKAN_RANGE_INIT, TALLY_VULKAN_RANGE_INIT, TALLY_VULKAN_RANGE_INIT, \
        TALLY_VULKAN_RANGE_INIT }, \
      TALLY_VULKAN_RANGE_INIT, \
      TALLY_VULKAN_RANGE_INIT, \
      TALLY_VULKAN_RANGE_INIT }

/**
 * Records a kernel into a command buffer: its dispatches, push constants, and the barriers between
 * its own passes. The command buffer must be in the recording state, outside of a render pass.
 *
 * The caller records all barriers before and after the kernel. Before it, input, operands and
 * scratch must be free and visible to compute shaders and transfers.
 *
 * *recording receives the Vulkan objects that the command buffer refers to. On entry it must be
 * NULL, or a recording with command buffers that are completed and are not used again. The caller
 * keeps the recording until its own command buffer is completed and not used again, and then
 * destroys it with tally_vulkan_recording_destroy.
 *
 * Returns TALLY_INVALID if a range is too small or misaligned, or if input and output overlap
 * without being in place. It also returns TALLY_INVALID if an operand or `carry_in` overlaps the
 * output, or if `carry_out` overlaps another tensor without being `carry_in` itself; then the
 * error's field is the operand's letter, "carry_in" or "carry_out". Nothing is recorded if the call
 * fails. Operands may overlap the input and each other.
 *
 * Without elements to read or to make, the ranges of input and output may be zero, and so may
 * `carry_in`: then the scan begins with no state. The kernel does not look at the states that its
 * word does not name.
 */
TALLY_API tally_status tally_vulkan_record(const tally_vulkan_kernel *kernel,
                                           VkCommandBuffer commands,
                                           const tally_vulkan_buffers *buffers,
                                           tally_vulkan_recording **recording, tally_error *error);

/** Destroys a recording and sets *recording to NULL. NULL is valid. */
TALLY_API void tally_vulkan_recording_destroy(tally_vulkan_recording **recording);

/** Semaphores for a submission: one to wait for, and one to signal. VK_NULL_HANDLE means none. The
 *  values are for timeline semaphores. */
typedef struct tally_vulkan_sync {
    size_t size; /**< sizeof(tally_vulkan_sync) */
    VkSemaphore wait;
    uint64_t wait_value;
    VkSemaphore signal;
    uint64_t signal_value;
} tally_vulkan_sync;

#define TALLY_VULKAN_SYNC_INIT { sizeof(tally_vulkan_sync), VK_NULL_HANDLE, 0, VK_NULL_HANDLE, 0 }

/** Submits a kernel on device buffers and returns at once. `sync` may be NULL. Later compute and
 *  transfer work that is submitted to the same queue sees what the kernel writes. If scratch.buffer
 *  is VK_NULL_HANDLE, Tally provides the scratch memory. */
TALLY_API tally_status tally_vulkan_submit(const tally_vulkan_kernel *kernel,
                                           const tally_vulkan_buffers *buffers,
                                           const tally_vulkan_sync *sync, tally_error *error);

/** Runs a kernel on tensors in host memory and waits for the result, as tally_kernel_run. Like that
 *  call it refuses kernels with operands, which tally_vulkan_run_buffers runs. */
TALLY_API tally_status tally_vulkan_run(const tally_vulkan_kernel *kernel, const void *in,
                                        void *out, tally_error *error);

/** Runs a kernel with any number of tensors on buffers in host memory and waits for the result. The
 *  buffers are as for tally_kernel_run_buffers. */
TALLY_API tally_status tally_vulkan_run_buffers(const tally_vulkan_kernel *kernel,
                                                const tally_buffers *buffers, tally_error *error);

/* --- timing ---------------------------------------------------------------------------------- */

/** Runs a kernel once on device buffers, in a submission of its own, and waits. Sets *seconds to
 *  the time that it took by the device's clock; the host's part is not included. Scratch is as for
 *  tally_vulkan_submit. Returns TALLY_UNSUPPORTED if the queue has no timestamps. */
TALLY_API tally_status tally_vulkan_time(const tally_vulkan_kernel *kernel,
                                         const tally_vulkan_buffers *buffers, double *seconds,
                                         tally_error *error);

/** Measures, as tally_vulkan_time, how long the device takes to copy `bytes` bytes from one buffer
 *  to another. The buffers come from tally_vulkan_buffer_create, or have TRANSFER_SRC and
 *  TRANSFER_DST usage. */
TALLY_API tally_status tally_vulkan_time_copy(tally_vulkan *vulkan, const tally_vulkan_range *from,
                                              const tally_vulkan_range *to, uint64_t bytes,
                                              double *seconds, tally_error *error);

/* --- buffers --------------------------------------------------------------------------------- */

/** Allocates a buffer of at least `bytes` bytes in device memory, for tensors or scratch. It is not
 *  initialised. The caller destroys it with tally_vulkan_buffer_destroy. Returns
 *  TALLY_OUT_OF_MEMORY if there is no such memory; the message names the size and the limit. */
TALLY_API tally_status tally_vulkan_buffer_create(tally_vulkan *vulkan, size_t bytes,
                                                  tally_vulkan_buffer **buffer, tally_error *error);

/** Destroys a buffer and sets *buffer to NULL. The caller's own work with the buffer must be done.
 *  For work that was submitted through this handle's device, Tally waits in the background. NULL is
 *  valid. */
TALLY_API void tally_vulkan_buffer_destroy(tally_vulkan_buffer **buffer);

/** Fills *range for tally_vulkan_buffers, with offset 0, or with zeros if `buffer` is NULL. If
 *  `range` is NULL, the call does nothing. */
TALLY_API void tally_vulkan_buffer_info(const tally_vulkan_buffer *buffer,
                                        tally_vulkan_range *range);

/** Copy `bytes` bytes from host memory to the buffer, or back, and wait. `offset` is a place in the
 *  buffer. Work that uses the buffer must be done. */
TALLY_API tally_status tally_vulkan_buffer_write(tally_vulkan_buffer *buffer, uint64_t offset,
                                                 const void *from, size_t bytes,
                                                 tally_error *error);
TALLY_API tally_status tally_vulkan_buffer_read(tally_vulkan_buffer *buffer, uint64_t offset,
                                                void *to, size_t bytes, tally_error *error);

#ifdef __cplusplus
}
#endif
#endif
