/* SPDX-License-Identifier: MIT
 * Pieces of work that others are made of. */
#pragma once

#include <stdint.h>

/* Burn so much of their thread's CPU time. */
void hot(uint64_t ms);
void cold(uint64_t ms);

/* The thread's CPU time. */
uint64_t thread_ns(void);

/* Returns once the first thread sleeps. */
void await_sleep_of_first(void);

/* Of two threads, or of two processes, one works and the first thread waits for it, in turns: by this means. */
int has_chain(const char* means);
void chain(const char* means);
