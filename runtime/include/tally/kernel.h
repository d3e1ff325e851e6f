/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts and kernels: from a descriptor to a result on the CPU.
 * A context owns a cache of generated code, the worker threads and the generator. A kernel is
 * made for one descriptor; kernels of equal canonical problems share their code.
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
 * The host's own threads, in place of Tally's: must call task(state, i) once for each i in
 * [0, count) and return after all have returned. They may run one after another, in any order, on
 * any number of threads; no task waits for one that has not started.
 */
typedef void (*tally_parallel_for)(void *user, int64_t count,
                                   void (*task)(void *state, int64_t index), void *state);

/** Receives text, or bytes, piece by piece; returns 0 to go on. */
typedef int (*tally_write)(void *user, const char *text, size_t bytes);

/** What the library would tell whoever runs the program: one line, without an end of line. */
typedef enum tally_log_level {
    TALLY_LOG_WARNING = 1, /**< something asked for is not done, and all goes on without it */
    TALLY_LOG_EVENT = 2,   /**< a kernel was created or run; docs/environment.md has the format */
    TALLY_LOG_REASON = 3   /**< why: where it was looked for, the plan, the threads; for people */
} tally_log_level;

/** Called from any thread, from several at once; must not call Tally, nor fork. */
typedef void (*tally_log)(void *user, tally_log_level level, const char *message);

/** A cache of the host's for what kernels are made of, in place of the folder. `load` hands over
 *  what `save` was given for an equal key, by calling give(to, data, bytes) once or piece by piece,
 *  and returns 0; anything else if it has nothing. Tally judges what it gets by a checksum and runs
 *  it: it must come from nobody else. Called from any thread, from several at once; must not call
 *  Tally nor fork. Keys and data are borrowed until return. */
typedef int (*tally_cache_load)(void *user, const void *key, size_t key_bytes, tally_write give,
                                void *to);
typedef void (*tally_cache_save)(void *user, const void *key, size_t key_bytes, const void *data,
                                 size_t bytes);

/** What becomes of a kernel that is neither in memory nor in a pack nor in the disk cache. */
typedef enum tally_compile_mode {
    TALLY_COMPILE_WAIT = 0, /**< its creation makes it, and returns when it is there */
    /** Its creation returns with code that LLVM has selected quickly, of the same results to the
     *  bit, only slower. The full kernel is made on a thread of the context's and takes over at the
     *  next task or run. Only that one goes to the disk cache. Kernels for Vulkan devices, and of a
     *  generator that cannot do this, are made as with TALLY_COMPILE_WAIT. */
    TALLY_COMPILE_BACKGROUND = 1,
    /** It is not made: TALLY_NO_GENERATOR, and the message says which kernel is missing, the hint
     *  how to get it. No generator is opened, and one that is open already is not used. */
    TALLY_COMPILE_NEVER = 2
} tally_compile_mode;

/** All zero (but for size) is the default of everything. Structs that begin with a size each have a
 *  macro that sets just that: TALLY_CONTEXT_OPTIONS_INIT and so on, for C99 and C++11. */
typedef struct tally_context_options {
    size_t size;
    int32_t threads;             /**< most threads of a run; 0: the CPUs of the affinity mask */
    uint32_t cache_kernels;      /**< most generated kernels kept in memory; 0: 4096 */
    tally_parallel_for parallel; /**< NULL: Tally's own pool, started at the first use */
    void *parallel_user;
    const char *generator;       /**< path of libtally-codegen; NULL: where Tally is installed
                                       (docs/environment.md) */
    uint32_t isolate;            /**< milliseconds that making a kernel may take in a process of
                                       its own; 0: kernels are made in this process */
    uint32_t compile;            /**< a tally_compile_mode; 0: TALLY_COMPILE_WAIT */
    const char *cache_folder;    /**< of the disk cache (docs/cache.md); NULL: the environment's;
                                       "": there is none. Never used with raised privileges */
    tally_cache_load cache_load; /**< in place of a folder, which must be NULL or "" then; either
                                       may be NULL */
    tally_cache_save cache_save;
    void *cache_user;
    tally_log log; /**< NULL: nothing is told */
    void *log_user;
    uint32_t log_level;    /**< most tally_log_level that is told; 0: TALLY_LOG_WARNING. With more,
                                 each creation and run takes microseconds for its line */
    uint32_t log_reserved; /**< must be 0 */
} tally_context_options;

/*
 * isolate, for hosts that must survive. LLVM and SPIRV-Tools end the process when they run out of
 * memory or meet what they cannot do. With `isolate` a helper program, tally-maker, which lies
 * beside libtally-codegen, makes each kernel for a CPU or a Vulkan device and each text of
 * tally_inspect from LLVM on, and hands back its bytes: the same as without. If it crashes, the
 * creation is TALLY_INTERNAL, or TALLY_OUT_OF_MEMORY where its last words say so; after its time it
 * is ended, and the creation is TALLY_TIMEOUT. Without the program it is TALLY_NO_GENERATOR. The
 * message says what happened, and the context goes on.
 *
 * It costs a process for each kernel that is not in the cache: 10 ms more than the 4 and above that
 * making it takes (Zen 4). The process is a child of this one, and SIGCHLD is sent when it ends, as
 * for any. A host may handle or ignore SIGCHLD, or wait for every child; Tally waits for its own
 * alone. The helper has this process's environment (none where privileges are raised) and limits,
 * none of its file descriptors, and signals as in a new program.
 *
 * TALLY_COMPILE_BACKGROUND has one thread in each context, which begins with the first kernel that
 * it is to make. fork() waits for the kernel that it is making (for 2 s at most), so that the child
 * can do everything; what is still to be made there is made there once the child creates another.
 * The end of the context waits for that kernel, too, and gives up those after it. A full kernel that
 * cannot be made is told to `log`: its quick code goes on, and the next creation of an equal problem
 * has it tried again.
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
 * Makes a context; `options` may be NULL. Opens nothing and starts no thread until needed.
 * The context is thread-safe: every call may come from many threads at once.
 */
TALLY_API tally_status tally_context_create(const tally_context_options *options,
                                            tally_context **context, tally_error *error);

/** Ends the context after its last call has returned and its kernels are destroyed; sets
 *  *context to NULL. NULL is valid. */
TALLY_API void tally_context_destroy(tally_context **context);

typedef struct tally_kernel_options {
    size_t size;
    const char *device;  /**< NULL or "cpu": this CPU; "cpu:x86-64-v2" and so on: that level;
                              "vulkan": the best Vulkan device, a CPU that plays one last;
                              "vulkan:N": that one; or a part of a device's name */
    const char *plan;    /**< overrides for experiments, "key=value,key=value"; NULL: none */
    const char *profile; /**< for tally_inspect and tally_context_warm: the text of a profile, a
                              Vulkan device that need not be here; excludes `device`. NULL: none */
} tally_kernel_options;

#define TALLY_KERNEL_OPTIONS_INIT { sizeof(tally_kernel_options), NULL, NULL, NULL }

/**
 * Makes, or finds, the kernel for a descriptor; `options` may be NULL. The first call for a
 * problem compiles (tens of milliseconds), and later ones look up (below a microsecond). However
 * many threads ask, a problem is compiled once. TALLY_UNSUPPORTED names what no kernel exists for;
 * TALLY_NO_GENERATOR if libtally-codegen or libtally-llvm cannot be opened, or must not be
 * (TALLY_COMPILE_NEVER); the next call tries again. 32 KiB of stack are enough: where less than
 * 256 KiB are left, a thread is made for the compilation, and TALLY_OUT_OF_MEMORY says that there
 * can be none. Thread-safe.
 */
TALLY_API tally_status tally_kernel_create(tally_context *context,
                                           const tally_descriptor *descriptor,
                                           const tally_kernel_options *options,
                                           tally_kernel **kernel, tally_error *error);

/**
 * Makes the kernels for `count` descriptors on the context's threads (the host's, if it lends
 * `parallel`), so that their creations find them: each once, whoever else asks for it meanwhile, and
 * whatever `compile` says the full ones, but for TALLY_COMPILE_NEVER, which has them looked for in
 * packs and on disk alone. `options` are for all, and may be NULL; Vulkan devices may be named. For a
 * `profile` kernels are stored, in the disk cache or by `cache_save`, and not held on to: two threads
 * may make one. The descriptors lie one behind the other, each as large as the first's `size` says.
 * Where kernels cannot be made the others are, and the status and the error are those of the first
 * such descriptor, whose place, from 0, the message begins with. TALLY_INVALID if one cannot be read.
 * Blocks until all is done; holds on to what fits into `cache_kernels`. Thread-safe.
 */
TALLY_API tally_status tally_context_warm(tally_context *context,
                                          const tally_descriptor *descriptors, size_t count,
                                          const tally_kernel_options *options, tally_error *error);

/**
 * Whether tally_kernel_create would give a kernel, without making one: TALLY_OK, or the status,
 * field, message and hint that creation would have, as far as they can be known beforehand. It
 * looks where creation looks, in the same order: memory, the disk cache or the host's functions,
 * packs; what one of these holds needs no generator. Otherwise the generator, which is opened for
 * it with the library that makes the code (libtally-llvm or libtally-spirv), makes the plan and
 * stops there. With TALLY_COMPILE_NEVER it is not asked, and what is not stored is
 * TALLY_NO_GENERATOR.
 *
 * A Vulkan device is opened, and its plan made or found; TALLY_UNSUPPORTED names the feature that
 * it lacks, and tensors that its buffers cannot hold. For a `profile`, of which no kernel can be
 * created, the answer is that of tally_context_warm. Not known before the kernel is there: that
 * memory or time runs out while it is made, what LLVM or the driver makes of the code, and whether
 * the device's limits cut the work into too many dispatches. No counter of tally_context_stats
 * changes, and nothing is told to `log`. Thread-safe.
 */
TALLY_API tally_status tally_context_supports(tally_context *context,
                                              const tally_descriptor *descriptor,
                                              const tally_kernel_options *options,
                                              tally_error *error);

/**
 * Writes the canonical word of a kernel's descriptor, with its sizes, as tally_descriptor_print
 * does: TALLY_WORD_MAX bytes always suffice, `length` may be NULL. TALLY_INVALID where the text
 * does not fit; then `text` is untouched. Thread-safe.
 */
TALLY_API tally_status tally_kernel_word(const tally_kernel *kernel, char *text, size_t capacity,
                                         size_t *length, tally_error *error);

/** Gives the kernel back and sets *kernel to NULL; NULL is valid. Thread-safe. */
TALLY_API void tally_kernel_destroy(tally_kernel **kernel);

/**
 * Runs on host memory: `in` and `out` are the tensors' buffers, to which the descriptor's offsets
 * apply. In place (in == out) where strides, offsets and dtypes are equal; any other overlap of
 * the two regions is TALLY_INVALID, with nothing written. A kernel for a level that this machine
 * lacks is TALLY_UNSUPPORTED. Pointers must be aligned to their elements, and NULL only where the
 * tensor is empty; else TALLY_INVALID. The caller's floating-point environment, and that of a
 * host's `parallel` threads, must be the default one. Takes up to 24 KiB of stack on a CPU. Blocks
 * until done. Re-entrant: one kernel may run in many threads.
 */
TALLY_API tally_status tally_kernel_run(const tally_kernel *kernel, const void *in, void *out,
                                        tally_error *error);

/**
 * The same with `threads` threads at most (0: the context's), and fewer where more would not pay:
 * never more than there are CPUs. No result depends on it.
 */
TALLY_API tally_status tally_kernel_run_threads(const tally_kernel *kernel, const void *in,
                                                void *out, int32_t threads, tally_error *error);

/** How one run is done, for hosts whose threads are there only while it lasts. */
typedef struct tally_run_options {
    size_t size;
    int32_t threads;   /**< most threads; 0: the context's. See tally_kernel_run_threads */
    uint32_t reserved; /**< must be 0 */
    tally_parallel_for parallel; /**< the host's threads for this run; NULL: the context's */
    void *parallel_user;
    int32_t *threads_used; /**< where the run says how many threads its work was given to, the
                                caller's among them: 1 where more would not pay; 0 where there was
                                nothing to do, and on Vulkan devices. NULL: not wanted */
} tally_run_options;

#define TALLY_RUN_OPTIONS_INIT { sizeof(tally_run_options), 0, 0, NULL, NULL, NULL }

/**
 * The same with what `options` say; NULL: as tally_kernel_run. `parallel` is called once at most,
 * from this call, and only where several threads pay; nothing of it is kept. Options that break a
 * rule are TALLY_INVALID, with nothing written. No result depends on them, and kernels for Vulkan
 * devices do not use them.
 */
TALLY_API tally_status tally_kernel_run_with(const tally_kernel *kernel, const void *in, void *out,
                                             const tally_run_options *options, tally_error *error);

/** What tally_inspect can show. */
typedef enum tally_stage {
    TALLY_STAGE_WORD,
    TALLY_STAGE_PLAN,
    TALLY_STAGE_KIR,
    TALLY_STAGE_LLVM,
    TALLY_STAGE_ASM,
    TALLY_STAGE_SPIRV,  /**< the words of each pass, one after the other, little-endian */
    TALLY_STAGE_SPVASM, /**< their disassembly, lines of the kernel IR as OpLine */
    /* For those who show a kernel: the same code, and what became of what. */
    TALLY_STAGE_LLVM_LINES, /**< LLVM, with lines of the kernel IR as debug locations */
    TALLY_STAGE_ASM_LINES, /**< ASM, with them as .loc directives; the instructions are the same, on
                                 AArch64 a function's first ones perhaps in another order */
    TALLY_STAGE_REASONS, /**< a line a choice of the plan: key, value and why, separated by tabs */
    TALLY_STAGE_LAUNCH, /**< lines `key = value`: the problem that the kernel is for, as it sees it,
                                 and how it is cut into tiles and chunks; sizes in elements */
    TALLY_STAGE_CHOICES, /**< a line for each plan that differs by one more choice, as overrides */
    TALLY_STAGE_ORDER    /**< what of the plan decides the order of combination: on one target,
                              results of plans with the same text are the same to the bit */
} tally_stage;

/** Writes one stage of the kernel's making as text; on failure part of it may have been written.
 *  Open sizes are taken for word, plan, reasons and kir on a CPU, and count as large. Errors as
 *  tally_kernel_create; TALLY_UNSUPPORTED for a stage that the device's kernels do not have;
 *  TALLY_IO if `write` returned non-zero; TALLY_OUT_OF_MEMORY if less than 256 KiB of stack are
 *  left, but for TALLY_STAGE_WORD, as `write` is called on this thread. Thread-safe. */
TALLY_API tally_status tally_inspect(tally_context *context, const tally_descriptor *descriptor,
                                     const tally_kernel_options *options, tally_stage stage,
                                     tally_write write, void *user, tally_error *error);

/** What tally_compile writes. */
typedef enum tally_format {
    TALLY_FORMAT_OBJECT,   /**< a relocatable ELF object */
    TALLY_FORMAT_ASSEMBLY, /**< the same as text */
    TALLY_FORMAT_LLVM      /**< and as LLVM's IR */
} tally_format;

/** One function of such an object. */
typedef struct tally_function {
    size_t size;
    const char *name; /**< a C identifier of at most 1000 bytes, which is no other function's NAME
                           or NAME_part, as each function has a second one, NAME_part. Names that
                           C, C++ or the C library have are refused: keywords, macros of standard
                           headers, what libc and libm export, and all that begins with _ */
    const tally_descriptor
        *descriptor;  /**< of which any sizes may be open, unless it has strides */
    const char *plan; /**< as tally_kernel_options.plan, of all its kernels; NULL: none */
} tally_function;

#define TALLY_FUNCTION_INIT { sizeof(tally_function), NULL, NULL, NULL }

/**
 * Makes kernels ahead of time (docs/ahead.md): for each of `count` functions code for each of
 * `device_count` CPU levels of one architecture, as tally_kernel_options.device names them; which of
 * them runs is decided where the function is called. `write` gets all of the object, in one piece.
 * Equal arguments write equal bytes. Steps of `functions` are functions[0].size.
 * Errors as tally_kernel_create, for a plan that one of a function's kernels cannot have, too;
 * TALLY_INVALID for a name that no function can have, and for devices of several architectures;
 * TALLY_UNSUPPORTED for what is no CPU, and where Tally was built without what objects need;
 * TALLY_IO and TALLY_OUT_OF_MEMORY as tally_inspect. Kernels are made in this process, whatever
 * `isolate` says, on this thread. Thread-safe.
 */
TALLY_API tally_status tally_compile(tally_context *context, const tally_function *functions,
                                     size_t count, const char *const *devices, size_t device_count,
                                     tally_format format, tally_write write, void *user,
                                     tally_error *error);

/** One target that tally_kernel_options.device can name. */
typedef struct tally_device {
    size_t size;
    char name[64];      /**< for people: the processor's name, or the level */
    char kind[16];      /**< "cpu" or "vulkan" */
    char selector[32];  /**< what `device` takes */
    char lacks[128];    /**< dtypes and features it lacks, blank-separated; may be empty */
    int32_t runs_here;  /**< 1: kernels for it run on this machine; 0: they can only be made */
    int32_t is_default; /**< 1 for the one that "cpu" means */
} tally_device;

#define TALLY_DEVICE_INIT { sizeof(tally_device), { 0 }, { 0 }, { 0 }, { 0 }, 0, 0 }

/** Fills up to `capacity` devices (none: `devices` may be NULL), the CPU's levels first, and sets
 *  *count (NULL: not wanted) to how many there are. The caller sets `size` of the first. Opens
 *  libvulkan unless `count` is NULL and four will do. Thread-safe. */
TALLY_API tally_status tally_devices(tally_device *devices, size_t capacity, size_t *count,
                                     tally_error *error);

/** Writes the profile of a Vulkan device that is here, which `device` names as in
 *  tally_kernel_options: with it as options->profile, kernels are made as for the device. Errors as
 *  tally_kernel_create; TALLY_UNSUPPORTED for a CPU's level, TALLY_IO if `write` returned non-zero.
 *  Thread-safe. */
TALLY_API tally_status tally_device_profile(tally_context *context, const char *device,
                                            tally_write write, void *user, tally_error *error);

/** Counters of a context, for tests and monitoring. */
typedef struct tally_stats {
    size_t size;
    uint64_t compiled; /**< kernels generated */
    uint64_t hits;     /**< creations served from memory */
    uint64_t cached;   /**< kernels held now, for the CPU and on Vulkan devices */
    uint64_t evicted;  /**< such kernels dropped to stay within the bound */
    uint64_t loaded;   /**< kernels that came from the disk cache, the host's, or packs */
    uint64_t quick;    /**< of those held now: that run on quick code until the full is made */
} tally_stats;

#define TALLY_STATS_INIT { sizeof(tally_stats), 0, 0, 0, 0, 0, 0 }

/** Fills *stats, whose `size` the caller has set. The counters are 0 if the context is NULL or
 *  belongs to a parent process. If `stats` is NULL, nothing happens. Thread-safe. */
TALLY_API void tally_context_stats(const tally_context *context, tally_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
