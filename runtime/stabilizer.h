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
__attribute__((weak)) void stab_randomize(void);

/* The region of interest: its time goes to the report. Regions are counted; nested ones count once.
 * Any thread. */
#define STAB_BEGIN() ((void)(stab_begin ? stab_begin() : (void)0))
#define STAB_END() ((void)(stab_end ? stab_end() : (void)0))

/* Before a function's definition: it stays where the linker put it. */
#define STAB_NO_MOVE __attribute__((section("stab_nomove"), noinline))

/* Asks for a new layout. With rerandomize=once there is one layout for the whole run, and this does
 * nothing. */
static inline void stab_randomize_now(void) {
  if (stab_randomize) stab_randomize();
}

#ifdef __cplusplus
}
#endif

#endif
