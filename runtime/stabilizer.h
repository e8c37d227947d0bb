/* SPDX-License-Identifier: MIT
 * For programs that are built with szc; harmless in others. C and C++. */
#ifndef STABILIZER_H
#define STABILIZER_H

#ifdef __cplusplus
extern "C" {
#endif

/* Resolved by the runtime if the program has one. */
__attribute__((weak)) void stab_begin(void);
__attribute__((weak)) void stab_end(void);
__attribute__((weak)) void stab_begin_region(const char* name);
__attribute__((weak)) void stab_end_region(const char* name);
__attribute__((weak)) void stab_randomize(void);

/* The region of interest: its time goes to the report, and so does how often it was entered. It may
 * begin and end in any thread and in signal handlers. Where it is begun again before it ended,
 * by whichever thread, it counts once, up to its last end. An end without a beginning is ignored; a
 * region that is open when the program exits ends there, and the report says so. What a child of
 * fork does is not in the report. */
#define STAB_BEGIN() ((void)(stab_begin ? stab_begin() : (void)0))
#define STAB_END() ((void)(stab_end ? stab_end() : (void)0))

/* Regions with names, as STAB_BEGIN_REGION("parse"): the same for each name, and those of different
 * names may overlap. A name has 1 to 40 letters, digits, '_', '.' and '-', and a program has up to
 * 64 of them; other regions are not measured, and the report counts them. */
#define STAB_BEGIN_REGION(name) ((void)(stab_begin_region ? stab_begin_region(name) : (void)0))
#define STAB_END_REGION(name) ((void)(stab_end_region ? stab_end_region(name) : (void)0))

/* Before a function's definition: it stays where the linker put it. */
#define STAB_NO_MOVE __attribute__((section("stab_nomove"), noinline))

/* Asks for a new layout. With rerandomize=once there is one layout for the whole run, and this does
 * nothing. */
static inline void stab_randomize_now(void) {
  if (stab_randomize) stab_randomize();
}

/* Resolved by libstabcausal.so, under which `stabctl causal` runs programs, szc's or not. */
__attribute__((weak)) void stab_visit(int kind, const char* name, void** point);
#define STAB_VISIT_(kind, name)                           \
  do {                                                    \
    static void* stab_point_;                             \
    if (stab_visit) stab_visit(kind, name, &stab_point_); \
  } while (0)

/* Progress points: what a program is run for, as a request answered. How often they are visited is
 * what a causal profile is about. The name is a constant, the same for a point in several places.
 * A BEGIN and an END of one name are a latency. */
#define STAB_PROGRESS(name) STAB_VISIT_(1, name)
#define STAB_PROGRESS_BEGIN(name) STAB_VISIT_(2, name)
#define STAB_PROGRESS_END(name) STAB_VISIT_(3, name)

/* Where work comes in: the profiler can make it come faster, by a fixed time for each visit, of
 * which the thread that visits gains all. (GNU ld finds these functions for a program without PIE
 * only with -Wl,-z,dynamic-undefined-weak.) */
#define STAB_ARRIVAL(name) STAB_VISIT_(4, name)

#ifdef __cplusplus
}
#endif

#endif
