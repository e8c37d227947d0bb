/* SPDX-License-Identifier: MIT
 * For programs that are built with szc; harmless in other programs. For C and C++. */
#ifndef STABILIZER_H
#define STABILIZER_H

#ifdef __cplusplus
extern "C" {
#endif

/* The runtime defines these, if the program has it. */
__attribute__((weak)) void stab_begin(void);
__attribute__((weak)) void stab_end(void);
__attribute__((weak)) void stab_begin_region(const char* name);
__attribute__((weak)) void stab_end_region(const char* name);
__attribute__((weak)) void stab_randomize(void);

/* The region of interest. The report has its time, and how often it was entered. It may begin and
 * end in any thread and in signal handlers. If any thread begins it again before it has ended, it
 * counts once, up to its last end. An end without a beginning is ignored. A region that is open
 * when the program exits ends there, and the report says so. The report does not include regions of
 * a child of fork. */
#define STAB_BEGIN() ((void)(stab_begin ? stab_begin() : (void)0))
#define STAB_END() ((void)(stab_end ? stab_end() : (void)0))

/* Regions with names, for example STAB_BEGIN_REGION("parse"). The rules above hold for each name,
 * and regions with different names may overlap. A name has 1 to 40 letters, digits, '_', '.' and
 * '-', and a program has up to 64 of them; other regions are not measured, and the report counts
 * them. */
#define STAB_BEGIN_REGION(name) ((void)(stab_begin_region ? stab_begin_region(name) : (void)0))
#define STAB_END_REGION(name) ((void)(stab_end_region ? stab_end_region(name) : (void)0))

/* Written before a function's definition: the function stays where the linker put it. */
#define STAB_NO_MOVE __attribute__((section("stab_nomove"), noinline))

/* Asks for a new layout. With rerandomize=once there is one layout for the whole run, and this does
 * nothing. If a thread is in fork(), dlopen() or dlclose() at this moment, there is no new layout,
 * and the report counts this in given_up. */
static inline void stab_randomize_now(void) {
  if (stab_randomize) stab_randomize();
}

/* libstabcausal.so defines this. `stabctl causal` loads it into programs, built with szc or not. */
__attribute__((weak)) void stab_visit(int kind, const char* name, void** point);
#define STAB_VISIT_(kind, name)                           \
  do {                                                    \
    static void* stab_point_;                             \
    if (stab_visit) stab_visit(kind, name, &stab_point_); \
  } while (0)

/* A progress point marks a unit of the work that the program is run for, such as an answered
 * request. A causal profile is about how often the points are visited. The name is a constant; a
 * point in several places has the same name there. A BEGIN and an END with one name measure a
 * latency. */
#define STAB_PROGRESS(name) STAB_VISIT_(1, name)
#define STAB_PROGRESS_BEGIN(name) STAB_VISIT_(2, name)
#define STAB_PROGRESS_END(name) STAB_VISIT_(3, name)

/* Marks the place where work comes in. The profiler can make work come faster, by a fixed time for
 * each visit, and the visiting thread gains all of that time. (GNU ld finds these functions for a
 * program without PIE only with -Wl,-z,dynamic-undefined-weak.) */
#define STAB_ARRIVAL(name) STAB_VISIT_(4, name)

#ifdef __cplusplus
}
#endif

#endif
