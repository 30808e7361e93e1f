/* Reports what a program does to Firstwait: spans, counters, steps and settings, into a ring in
 * shared memory that `firstwait run` reads, also after the program was killed. emit/FORMAT.md has
 * the layout.
 *
 * Everything here may be called from any thread and does nothing when FIRSTWAIT_DIR is not set or
 * no ring could be made: a program need not check. A record takes no lock, no allocation and no
 * system call. Times are CLOCK_MONOTONIC nanoseconds. After fork() the child gets a ring of its own
 * with its first record. */
#ifndef FIRSTWAIT_EMIT_H_
#define FIRSTWAIT_EMIT_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FIRSTWAIT_API __attribute__((visibility("default")))

/* What a span is: a phase of the training thread, or the work of a loader. */
enum firstwait_phase {
  FIRSTWAIT_INPUT_WAIT = 0,
  FIRSTWAIT_H2D = 1,
  FIRSTWAIT_FORWARD = 2,
  FIRSTWAIT_BACKWARD = 3,
  FIRSTWAIT_OPTIMIZER = 4,
  FIRSTWAIT_COLLECTIVE = 5,
  FIRSTWAIT_P2P = 6,
  FIRSTWAIT_CHECKPOINT = 7,
  FIRSTWAIT_EVALUATION = 8,
  FIRSTWAIT_GC = 9,
  FIRSTWAIT_LOGGING = 10,
  FIRSTWAIT_COMPILE = 11,
  FIRSTWAIT_HOST = 12,
  FIRSTWAIT_UNEXPLAINED = 13,
  FIRSTWAIT_FETCH = 16,
  FIRSTWAIT_DECOMPRESS = 17,
  FIRSTWAIT_DECODE = 18,
  FIRSTWAIT_TRANSFORM = 19,
  FIRSTWAIT_TOKENIZE = 20,
  FIRSTWAIT_COLLATE = 21
};

enum firstwait_role { FIRSTWAIT_OTHER = 0, FIRSTWAIT_TRAINER = 1, FIRSTWAIT_LOADER = 2 };

/* Where a span ran, when not on the calling thread. */
enum firstwait_lane { FIRSTWAIT_THREAD = 0, FIRSTWAIT_DEVICE = 1, FIRSTWAIT_BACKGROUND = 2 };

/* A name together with a phase. Make one per operation, once; it stays valid for the life of the
 * process and in its forked children. */
typedef uint64_t firstwait_op;

/* Makes the ring now instead of with the first record. `records` is its size, rounded up to a power
 * of two; 0 takes FIRSTWAIT_RING_RECORDS or 16384. Returns 0 when the process records, else an
 * errno value (ENOENT: not asked to). */
FIRSTWAIT_API int firstwait_open(uint32_t records);

/* Takes a lock; not for every record. Names longer than 255 bytes are cut. A full table gives the
 * name "". */
FIRSTWAIT_API firstwait_op firstwait_name(const char* name, int phase);

FIRSTWAIT_API int64_t firstwait_now(void);

/* A span that began at `start` and ends now. */
FIRSTWAIT_API void firstwait_span(firstwait_op op, int64_t start);

/* All there is to say of a span. `end` 0: now. `group`: a name (firstwait_name) of the ranks that
 * take part, or 0; `seq`: the running number in that group, and `bytes` what was moved, or -1. */
FIRSTWAIT_API void firstwait_span_full(firstwait_op op, int64_t start, int64_t end,
                                       firstwait_op group, int64_t seq, int64_t bytes, int lane);

/* A span has begun: should the program be killed before firstwait_span with the same op and start,
 * this tells of it. Returns the start. */
FIRSTWAIT_API int64_t firstwait_begin(firstwait_op op);

/* The work of a loader on one batch, on this thread. What the kernel counts as time on a processor,
 * or waiting for one, becomes `transform`, of it what lay in a FIRSTWAIT_DECODE part `decode`; the
 * rest of the time is `fetch`, waiting for reads. A FIRSTWAIT_COLLATE part is a span of its own.
 * Two system calls at either end. Parts outside of a batch are ignored. */
FIRSTWAIT_API void firstwait_batch_begin(void);
FIRSTWAIT_API void firstwait_batch_part(int phase);
FIRSTWAIT_API void firstwait_batch_part_end(int phase);
FIRSTWAIT_API void firstwait_batch_end(void);

FIRSTWAIT_API void firstwait_counter(firstwait_op op, double value);

/* A step of the training ends now; it began where the one before ended. `step` counts from 0;
 * `samples` -1: unknown. The calling thread is the training thread. */
FIRSTWAIT_API void firstwait_step(int64_t step, int64_t samples);

/* A start-up fact, such as "loader.num_workers" = "4". Kept however long the program runs. */
FIRSTWAIT_API void firstwait_setting(const char* key, const char* value);

/* Who this process is; -1: unknown. */
FIRSTWAIT_API void firstwait_identity(int rank, int world_size, int local_rank, int role);

#ifdef __cplusplus
}
#endif
#endif /* FIRSTWAIT_EMIT_H_ */
