/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and kernels. A context owns the kernels in memory, the worker threads and the generator.
 * A kernel is made for one descriptor and runs on tensors of that shape. Kernels for descriptors
 * that lead to the same code share it.
 */
#ifndef TALLY_KERNEL_H
#define TALLY_KERNEL_H

#include <tally/descriptor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tally_context tally_context;
typedef struct tally_kernel tally_kernel;

/**
 * A function of the host (the program that uses Tally) that runs tasks on the host's own threads,
 * in place of Tally's. It must call task(state, i) once for each i in [0, count), and return after
 * all these calls have returned. The tasks may run in any order, one after another or on any number
 * of threads. No task waits for a task that has not started.
 */
typedef void (*tally_parallel_for)(void *user, int64_t count,
                                   void (*task)(void *state, int64_t index), void *state);

/** A function of the caller that receives text or bytes, piece by piece. It returns 0 to go on; any
 *  other value stops the call. */
typedef int (*tally_write)(void *user, const char *text, size_t bytes);

/** The kind of a message from the library. A message is one line without an end of line. */
typedef enum tally_log_level {
    TALLY_LOG_WARNING = 1, /**< the library cannot do something it was asked to, and goes on */
    TALLY_LOG_EVENT = 2,   /**< a kernel was created or run; docs/environment.md has the format */
    TALLY_LOG_REASON = 3   /**< a reason, for people: where a kernel was looked for, its plan, the
                                number of threads */
} tally_log_level;

/** A function of the host that receives messages. Tally calls it from any thread, and from several
 *  at once. It must not call Tally or fork. */
typedef void (*tally_log)(void *user, tally_log_level level, const char *message);

/**
 * A cache of the host's own, in place of the folder on disk. It stores the data that kernels are
 * made from.
 *
 * `save` receives a key and the data for it. `load` returns that data for an equal key: it calls
 * give(to, data, bytes) once or several times, piece by piece, and returns 0. If it has nothing for
 * the key, it returns any other value.
 *
 * Security: Tally tests the data by a checksum only, and then executes it. The data must come from
 * `save` alone.
 *
 * Tally calls both from any thread, and from several at once. They must not call Tally or fork.
 * Keys and data are borrowed until the function returns.
 */
typedef int (*tally_cache_load)(void *user, const void *key, size_t key_bytes, tally_write give,
                                void *to);
typedef void (*tally_cache_save)(void *user, const void *key, size_t key_bytes, const void *data,
                                 size_t bytes);

/** How a creation makes a kernel that is not stored: neither in memory, nor in a pack, nor in the
 *  disk cache. */
typedef enum tally_compile_mode {
    TALLY_COMPILE_WAIT = 0, /**< the creation compiles the kernel and then returns */
    /** The creation compiles the kernel quickly and returns. The quick code is slower, but its
     *  results are the same to the bit. A thread of the context makes the full code, which
     *  replaces the quick code at the next task or run. Only the full code is written to the
     *  disk cache. This works as TALLY_COMPILE_WAIT for Vulkan devices and for a generator
     *  without quick code. */
    TALLY_COMPILE_BACKGROUND = 1,
    /** The creation does not compile. It returns TALLY_NO_GENERATOR; the message names the missing
     *  kernel, and the hint says how to get it. It neither opens the generator nor uses it if it is
     *  open already. */
    TALLY_COMPILE_NEVER = 2
} tally_compile_mode;

/** The options of a context. Zero is the default of every field except `size`. Each struct that
 *  begins with `size` has a macro that sets only this field, such as TALLY_CONTEXT_OPTIONS_INIT.
 *  The macros are valid in C99 and C++11. */
typedef struct tally_context_options {
    size_t size;                 /**< sizeof(tally_context_options) */
    int32_t threads;             /**< most threads of a run; 0: TALLY_THREADS, else the CPUs of the
                                      affinity mask */
    uint32_t cache_kernels;      /**< most generated kernels in memory; 0: 4096 */
    tally_parallel_for parallel; /**< the host's threads; NULL: Tally's own pool, which starts when
                                      it is first used */
    void *parallel_user;         /**< passed to `parallel` as `user` */
    const char *generator;       /**< path of libtally-codegen; NULL: it is searched where Tally is
                                      installed (docs/environment.md) */
    uint32_t isolate;            /**< milliseconds that a helper process may take to make a kernel;
                                      0: kernels are made in this process. See below */
    uint32_t compile;            /**< a tally_compile_mode; 0: TALLY_COMPILE_WAIT */
    const char *cache_folder;    /**< folder of the disk cache (docs/cache.md); NULL: the one that
                                      the environment names; "": there is no disk cache. With raised
                                      privileges no folder is used */
    tally_cache_load cache_load; /**< reads from the host's cache; NULL: never. With it or
                                      cache_save, cache_folder must be NULL or "" */
    tally_cache_save cache_save; /**< writes to the host's cache; NULL: never */
    void *cache_user;            /**< passed to both as `user` */
    tally_log log;               /**< receives messages; NULL: there are none */
    void *log_user;              /**< passed to `log` as `user` */
    uint32_t log_level;          /**< the highest tally_log_level that is reported; 0:
                                      TALLY_LOG_WARNING. From TALLY_LOG_EVENT on each creation and
                                      run takes microseconds more */
    uint32_t log_reserved;       /**< must be 0 */
} tally_context_options;

/*
 * The option `isolate` is for hosts that must survive every fault. LLVM and SPIRV-Tools end the
 * process when they run out of memory or meet code that they cannot handle. With `isolate` they
 * work in a process of their own: a helper program, tally-maker, in the folder of libtally-codegen.
 * It makes each kernel, for a CPU or a Vulkan device, and each text of tally_inspect that LLVM or
 * SPIRV-Tools takes part in. It returns the same bytes as this process would make.
 *
 * If the helper fails, the creation fails and the context stays usable. The message says what
 * happened. The statuses are:
 *
 * - TALLY_INTERNAL if the helper crashes, or TALLY_OUT_OF_MEMORY if its last words say so;
 * - TALLY_TIMEOUT if its time has passed; then it is ended;
 * - TALLY_NO_GENERATOR if the program is missing.
 *
 * Each kernel that is not stored starts a process: 10 ms in addition to the 4 ms or more that
 * making a kernel takes (Zen 4). The process is a child of this one, so SIGCHLD is sent when it
 * ends. A host may handle or ignore SIGCHLD, or wait for every child. Tally waits only for its own
 * child. The helper has the limits and the environment of this process; with raised privileges it
 * has no environment. It has no file descriptor of this process, and the signals of a new program.
 *
 * The mode TALLY_COMPILE_BACKGROUND has one thread in each context. The thread starts with the
 * first kernel that it has to make. fork() waits at most 2 s for the kernel that the thread is
 * making. In the child the kernels that are still missing are made once the child creates another.
 * Destroying the context waits for the kernel in progress and abandons the others. If a full kernel
 * cannot be made, `log` receives a warning and the quick code stays. The next creation of an equal
 * problem tries again.
 */
#define TALLY_CONTEXT_OPTIONS_INIT \
    { sizeof(tally_context_options), \
      0, \
      0, \
      NULL, \
      NULL, \
      NULL, \
      0, \
      0, \
      NULL, \
      NULL, \
      NULL, \
      NULL, \
      NULL, \
      NULL, \
      0, \
      0 }

/**
 * Makes a context. `options` may be NULL. The call opens no library and starts no thread; that
 * happens when it is needed. The caller destroys the context with tally_context_destroy.
 * Thread-safe, and many threads may use one context at once.
 */
TALLY_API tally_status tally_context_create(const tally_context_options *options,
                                            tally_context **context, tally_error *error);

/**
 * Returns the context that the process has once. It is for libraries that a program loads side by
 * side, such as a Python extension and a plug-in of another framework: they share kernels and
 * threads. The first call makes the context, with the defaults of all options; later calls return
 * the same one. Nobody owns it: tally_context_destroy leaves it as it is. Thread-safe.
 */
TALLY_API tally_status tally_context_shared(tally_context **context, tally_error *error);

/** Destroys the context and sets *context to NULL. All calls with it must have returned, and its
 *  kernels must be destroyed. NULL is valid. The context of tally_context_shared is not
 *  destroyed. */
TALLY_API void tally_context_destroy(tally_context **context);

/**
 * Sets the most threads of runs that name no number; 0 stands for the number that the context was
 * made with. Runs that have begun keep their number. Returns TALLY_INVALID if the number is
 * negative or above tally_context_options.threads, where these were given, else above 1024.
 * Thread-safe.
 */
TALLY_API tally_status tally_context_set_threads(tally_context *context, int32_t threads,
                                                 tally_error *error);

/** Returns the most threads of runs that name no number; 0 if the context is NULL. Thread-safe. */
TALLY_API int32_t tally_context_threads(const tally_context *context);

/** How a kernel is made. */
typedef struct tally_kernel_options {
    size_t size;         /**< sizeof(tally_kernel_options) */
    const char *device;  /**< the device that the kernel is for:
                              NULL or "cpu": this CPU;
                              "cpu:x86-64-v2" and so on: a CPU of that level;
                              "vulkan": the best Vulkan device, a software device last;
                              "vulkan:N": the Vulkan device of that number;
                              or a part of a device's name */
    const char *plan;    /**< overrides of the plan, for experiments, "key=value,key=value";
                              NULL: none */
    const char *profile; /**< the text of a profile, which describes a Vulkan device that need not
                              be here. Functions that run no kernel take it, such as tally_inspect
                              and tally_context_warm. It excludes `device`. NULL: none */
} tally_kernel_options;

#define TALLY_KERNEL_OPTIONS_INIT { sizeof(tally_kernel_options), NULL, NULL, NULL }

/**
 * Creates the kernel for a descriptor. `options` may be NULL. The caller destroys the kernel with
 * tally_kernel_destroy, before the context.
 *
 * The first call for a problem compiles, in tens of milliseconds. Later calls look it up, in less
 * than a microsecond. If several threads create the same kernel at once, it is compiled once.
 *
 * Returns TALLY_UNSUPPORTED if no kernel exists for the descriptor; the message says why. Returns
 * TALLY_NO_GENERATOR if libtally-codegen or libtally-llvm cannot be opened, or must not be opened
 * (TALLY_COMPILE_NEVER). The next call tries again.
 *
 * The call needs 32 KiB of stack. If less than 256 KiB are left, it compiles on a new thread. If
 * there can be no such thread, it returns TALLY_OUT_OF_MEMORY. Thread-safe.
 */
TALLY_API tally_status tally_kernel_create(tally_context *context,
                                           const tally_descriptor *descriptor,
                                           const tally_kernel_options *options,
                                           tally_kernel **kernel, tally_error *error);

/**
 * Looks for the kernel of a descriptor in memory only: *kernel is NULL if the context does not have
 * its code yet. The call opens nothing, makes nothing and waits for no kernel in the making, so it
 * takes about a microsecond at most. It is for callers that hold a lock which they give up for
 * tally_kernel_create, such as an interpreter's. Kernels for Vulkan devices are never found.
 *
 * In a child that was forked while a call of its parent was in flight, it finds the kernels that
 * the calling thread has used, and these run.
 *
 * Arguments and errors are those of tally_kernel_create. Thread-safe.
 */
TALLY_API tally_status tally_kernel_find(tally_context *context, const tally_descriptor *descriptor,
                                         const tally_kernel_options *options, tally_kernel **kernel,
                                         tally_error *error);

/**
 * Makes the kernels for `count` descriptors ahead of time, so that later creations find them. The
 * work is done on the threads of the context, or on the host's, if it lends `parallel`. The call
 * blocks until all is done.
 *
 * Each kernel is made once, even if other threads create it at the same time. In the modes
 * TALLY_COMPILE_WAIT and TALLY_COMPILE_BACKGROUND the full code is made. With TALLY_COMPILE_NEVER
 * kernels are only looked up in packs and on disk.
 *
 * `options` apply to all kernels and may be NULL. They may name a Vulkan device. With a `profile`
 * kernels are stored in the disk cache, or by `cache_save`, and not kept in memory. Then two
 * threads may make one kernel twice. Otherwise the context keeps as many kernels as `cache_kernels`
 * allows.
 *
 * `descriptors` is an array with a stride of descriptors[0].size bytes. If some kernels cannot be
 * made, the others are. The status and the error are then those of the first such descriptor; the
 * message begins with its index. Returns TALLY_INVALID if a descriptor cannot be read. Thread-safe.
 */
TALLY_API tally_status tally_context_warm(tally_context *context,
                                          const tally_descriptor *descriptors, size_t count,
                                          const tally_kernel_options *options, tally_error *error);

/**
 * Tests whether tally_kernel_create would succeed, without making the kernel. Returns TALLY_OK, or
 * the status, field, message and hint that the creation would have, as far as they are known
 * beforehand.
 *
 * The test looks where a creation looks, in the same order: memory, then the disk cache or the
 * host's functions, then packs. A kernel found there needs no generator. Otherwise the generator is
 * opened, with the library that makes the code (libtally-llvm or libtally-spirv), and makes the
 * plan. With TALLY_COMPILE_NEVER the generator is not used, and a kernel that is not stored gives
 * TALLY_NO_GENERATOR.
 *
 * For a Vulkan device, the test opens the device and makes or finds the plan. TALLY_UNSUPPORTED
 * names the feature that the device lacks, or tensors that its buffers cannot hold. For a
 * `profile`, which no kernel can be created for, the answer is the one that tally_context_warm
 * would give.
 *
 * The test cannot foresee everything. Memory or time can run out later. LLVM or the driver can
 * fail. Limits of the device can cut the work into too many dispatches.
 *
 * The call changes no counter of tally_context_stats and sends nothing to `log`. Thread-safe.
 */
TALLY_API tally_status tally_context_supports(tally_context *context,
                                              const tally_descriptor *descriptor,
                                              const tally_kernel_options *options,
                                              tally_error *error);

/**
 * Writes the canonical word of a kernel's descriptor, with its sizes, as tally_descriptor_print
 * does. TALLY_WORD_MAX bytes always suffice. `length` may be NULL. Returns TALLY_INVALID if the
 * text does not fit; then `text` is not changed. Thread-safe.
 */
TALLY_API tally_status tally_kernel_word(const tally_kernel *kernel, char *text, size_t capacity,
                                         size_t *length, tally_error *error);

/** Destroys the kernel and sets *kernel to NULL. NULL is valid. Thread-safe. */
TALLY_API void tally_kernel_destroy(tally_kernel **kernel);

/**
 * Runs a kernel on tensors in host memory and blocks until the result is there. `in` and `out`
 * point to the buffers of the tensors; the descriptor's offsets count from these pointers.
 *
 * Both pointers must be aligned to their elements. They may be NULL only if the tensor is empty. A
 * scan can work in place, with in == out, if strides, offsets and dtypes of both are equal.
 * Otherwise the two regions must not overlap. Returns TALLY_INVALID if a rule is broken; then
 * nothing is written. Returns TALLY_UNSUPPORTED if the kernel is for a CPU level that this machine
 * lacks.
 *
 * The floating-point environment must be the default one on the calling thread, and on the host's
 * threads if it lends `parallel`. A run takes up to 24 KiB of stack on a CPU. Thread-safe: one
 * kernel may run in many threads at once.
 */
TALLY_API tally_status tally_kernel_run(const tally_kernel *kernel, const void *in, void *out,
                                        tally_error *error);

/**
 * Runs a kernel as tally_kernel_run, on at most `threads` threads; 0 stands for those of the
 * context. The run uses fewer threads if more would not make it faster, and never more than there
 * are CPUs. The result does not depend on the number of threads. Thread-safe.
 */
TALLY_API tally_status tally_kernel_run_threads(const tally_kernel *kernel, const void *in,
                                                void *out, int32_t threads, tally_error *error);

/** How one run is done. It is for hosts with threads that exist only during the run. */
typedef struct tally_run_options {
    size_t size;       /**< sizeof(tally_run_options) */
    int32_t threads;   /**< most threads, as for tally_kernel_run_threads; 0: the context's */
    uint32_t reserved; /**< must be 0 */
    tally_parallel_for parallel; /**< the host's threads for this run; NULL: the context's */
    void *parallel_user;         /**< passed to `parallel` as `user` */
    int32_t *threads_used;       /**< receives the number of threads that did the work, including
                                      the caller's: 1 if more would not pay; 0 if there was nothing
                                      to do, or if a Vulkan device did the work. NULL: not needed */
} tally_run_options;

#define TALLY_RUN_OPTIONS_INIT { sizeof(tally_run_options), 0, 0, NULL, NULL, NULL }

/**
 * Runs a kernel as tally_kernel_run, with options; NULL means the defaults. `parallel` is called at
 * most once, during this call, and only if several threads pay. Tally does not keep it. Returns
 * TALLY_INVALID if the options break a rule; then nothing is written. The result does not depend on
 * the options. Kernels for Vulkan devices do not use them. Thread-safe.
 */
TALLY_API tally_status tally_kernel_run_with(const tally_kernel *kernel, const void *in, void *out,
                                             const tally_run_options *options, tally_error *error);

/** The buffers of a kernel's tensors in host memory, for tally_kernel_run_buffers. Later versions
 *  of Tally add tensors at the end; a buffer that a kernel does not have is ignored. */
typedef struct tally_buffers {
    size_t size;    /**< sizeof(tally_buffers) */
    const void *in; /**< the input; the descriptor's in_offset counts from here */
    void *out;      /**< the output; the descriptor's out_offset counts from here */
    /** the operands a, b, c and d; an operand's offset counts from here */
    const void *operand[TALLY_MAX_OPERANDS];
    const void *offsets;  /**< where segments begin and end */
    const void *carry_in; /**< the state before the first element; NULL: there is none */
    void *carry_out;      /**< receives the state after the last element */
} tally_buffers;

#define TALLY_BUFFERS_INIT { sizeof(tally_buffers), NULL, NULL, { NULL }, NULL, NULL, NULL }

/**
 * Runs a kernel on the buffers, by the rules of tally_kernel_run, with the options of
 * tally_kernel_run_with; NULL means the defaults. This call does everything that the calls above
 * do, for kernels with any number of tensors. Thread-safe.
 */
TALLY_API tally_status tally_kernel_run_buffers(const tally_kernel *kernel,
                                                const tally_buffers *buffers,
                                                const tally_run_options *options,
                                                tally_error *error);

/**
 * Tests whether tally_kernel_run_buffers would accept the buffers, without running the kernel:
 * pointers that are missing or not aligned, regions that overlap, and a CPU level that this machine
 * lacks. Programs call it where all buffers must be right before the first run, as
 * tally_mpi_scan does. Returns the status and the error that the run would have. Thread-safe.
 */
TALLY_API tally_status tally_kernel_check_buffers(const tally_kernel *kernel,
                                                  const tally_buffers *buffers, tally_error *error);

/**
 * Returns where a scan with a carry may be cut so that its pieces have the bits of one run: at
 * multiples of so many elements along the axis, in scan direction. This is 1 where every cut will
 * do, because the order is the plain loop's, or combining rounds nothing. Pieces that are cut
 * elsewhere, or are shorter than that, are within the tolerance of docs/semantics.md.
 *
 * Returns 0 if `kernel` is NULL, or is for a device and nothing is promised. Thread-safe.
 */
TALLY_API int64_t tally_kernel_chunk(const tally_kernel *kernel);

/** The texts that tally_inspect can write, from the descriptor to the machine code. */
typedef enum tally_stage {
    TALLY_STAGE_WORD,   /**< the canonical word */
    TALLY_STAGE_PLAN,   /**< the plan: which template is used, and with which parameters */
    TALLY_STAGE_KIR,    /**< the kernel IR (docs/kir.md) */
    TALLY_STAGE_LLVM,   /**< for CPUs: LLVM's IR */
    TALLY_STAGE_ASM,    /**< for CPUs: assembly */
    TALLY_STAGE_SPIRV,  /**< for Vulkan: the SPIR-V modules of all passes, one after the other,
                             little-endian */
    TALLY_STAGE_SPVASM, /**< for Vulkan: their disassembly, with lines of the kernel IR as OpLine */
    /* For programs that show a kernel: the same code with its origin, and choices of the plan. */
    TALLY_STAGE_LLVM_LINES, /**< LLVM's IR with lines of the kernel IR as debug locations */
    TALLY_STAGE_ASM_LINES,  /**< the assembly with these lines as .loc directives. The instructions
                                 are the same; on AArch64 the first ones of a function may have
                                 another order */
    TALLY_STAGE_REASONS,    /**< one line for each choice of the plan: key, value and reason,
                                 separated by tabs */
    TALLY_STAGE_LAUNCH,     /**< lines `key = value`: the problem as the kernel sees it, and how it
                                 is cut into tiles and chunks; sizes in elements */
    TALLY_STAGE_CHOICES,    /**< one line for each plan that differs in one more choice, as
                                 overrides */
    TALLY_STAGE_ORDER       /**< the parts of the plan that decide the order of combination. On one
                                 target, plans with the same text give the same bits */
} tally_stage;

/**
 * Writes one stage of a kernel as text. On failure a part of the text may have been written.
 * `options` may be NULL and may name a device or a profile.
 *
 * Sizes may be open on a CPU, for the stages word, plan, reasons and kir. An open size counts as a
 * large one.
 *
 * Errors are those of tally_kernel_create. Returns TALLY_UNSUPPORTED if the device's kernels do not
 * have the stage, and TALLY_IO if `write` returned non-zero. `write` is called on the calling
 * thread. So if less than 256 KiB of stack are left, the call returns TALLY_OUT_OF_MEMORY, except
 * for TALLY_STAGE_WORD. Thread-safe.
 */
TALLY_API tally_status tally_inspect(tally_context *context, const tally_descriptor *descriptor,
                                     const tally_kernel_options *options, tally_stage stage,
                                     tally_write write, void *user, tally_error *error);

/** The formats that tally_compile can write. */
typedef enum tally_format {
    TALLY_FORMAT_OBJECT,   /**< a relocatable ELF object */
    TALLY_FORMAT_ASSEMBLY, /**< the same code as assembly text */
    TALLY_FORMAT_LLVM      /**< the same code as LLVM's IR */
} tally_format;

/** One function of an object that tally_compile makes. */
typedef struct tally_function {
    size_t size;      /**< sizeof(tally_function) */
    const char *name; /**< a C identifier of at most 1000 bytes. Each function also has a second
                           function NAME_part, so that neither may be another function's name. Names
                           of C, C++ or the C library are refused: keywords, macros of standard
                           headers, what libc and libm export, and all that begins with _ */
    const tally_descriptor
        *descriptor;  /**< the problem. Any sizes may be open; with strides, at most four of them */
    const char *plan; /**< as tally_kernel_options.plan, for all kernels of the function;
                           NULL: none */
} tally_function;

#define TALLY_FUNCTION_INIT { sizeof(tally_function), NULL, NULL, NULL }

/**
 * Compiles functions ahead of time (docs/ahead.md). The object has code for each of `count`
 * functions and for each of `device_count` CPU levels. `devices` names the levels as
 * tally_kernel_options.device does; all must be of one architecture. A call of the function chooses
 * the level for the machine that it runs on.
 *
 * `write` receives the whole object in one piece. The output is reproducible: equal arguments give
 * equal bytes. `functions` is an array with a stride of functions[0].size bytes.
 *
 * Errors are those of tally_kernel_create, also if one kernel of a function cannot have the plan.
 * Returns TALLY_INVALID for a name that no function can have, and for devices of several
 * architectures. Returns TALLY_UNSUPPORTED for a device that is no CPU and for a function with too
 * many open sizes. It also does if Tally was built without the parts that objects need. Returns
 * TALLY_IO and TALLY_OUT_OF_MEMORY as tally_inspect.
 *
 * Kernels are made on the calling thread, even if the context has `isolate`. Thread-safe.
 */
TALLY_API tally_status tally_compile(tally_context *context, const tally_function *functions,
                                     size_t count, const char *const *devices, size_t device_count,
                                     tally_format format, tally_write write, void *user,
                                     tally_error *error);

/** One device that tally_kernel_options.device can name. */
typedef struct tally_device {
    size_t size;        /**< sizeof(tally_device) */
    char name[64];      /**< for people: the name of the processor, or of the level */
    char kind[16];      /**< "cpu" or "vulkan" */
    char selector[32];  /**< the text for tally_kernel_options.device */
    char lacks[128];    /**< dtypes and features that it lacks, separated by blanks; may be empty */
    int32_t runs_here;  /**< 1: kernels for it run on this machine; 0: they can only be made */
    int32_t is_default; /**< 1 for the device that "cpu" stands for */
} tally_device;

#define TALLY_DEVICE_INIT { sizeof(tally_device), { 0 }, { 0 }, { 0 }, { 0 }, 0, 0 }

/**
 * Lists the devices, the CPU levels first. Fills up to `capacity` elements of `devices` and sets
 * *count to the number of all devices. `devices` may be NULL if `capacity` is 0. `count` may be
 * NULL if it is not needed. The caller sets `size` of the first element. To list Vulkan devices the
 * call opens libvulkan, unless `count` is NULL and `capacity` is not larger than the number of CPU
 * levels. Thread-safe.
 */
TALLY_API tally_status tally_devices(tally_device *devices, size_t capacity, size_t *count,
                                     tally_error *error);

/**
 * Writes the profile of a Vulkan device of this machine. `device` names it as
 * tally_kernel_options.device does. With this text as options->profile, kernels are made as for the
 * device. Errors are those of tally_kernel_create. Returns TALLY_UNSUPPORTED for a CPU level, and
 * TALLY_IO if `write` returned non-zero. Thread-safe.
 */
TALLY_API tally_status tally_device_profile(tally_context *context, const char *device,
                                            tally_write write, void *user, tally_error *error);

/** Counters of a context, for tests and monitoring. */
typedef struct tally_stats {
    size_t size;       /**< sizeof(tally_stats) */
    uint64_t compiled; /**< kernels that were generated */
    uint64_t hits;     /**< creations that found their kernel in memory */
    uint64_t cached;   /**< kernels in memory now, for CPUs and Vulkan devices */
    uint64_t evicted;  /**< kernels that were dropped to stay within `cache_kernels` */
    uint64_t loaded;   /**< kernels that came from the disk cache, from the host's, or from packs */
    uint64_t quick;    /**< kernels in memory now that run on quick code, until the full code is
                            made */
} tally_stats;

#define TALLY_STATS_INIT { sizeof(tally_stats), 0, 0, 0, 0, 0, 0 }

/** Fills *stats; the caller has set its `size`. The counters are 0 if the context is NULL or
 *  belongs to a parent process. If `stats` is NULL, the call does nothing. Thread-safe. */
TALLY_API void tally_context_stats(const tally_context *context, tally_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
