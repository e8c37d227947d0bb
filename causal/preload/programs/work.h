/* SPDX-License-Identifier: MIT
 * Pieces of work from which others are made. */
#pragma once

#include <stdint.h>

/* Burn this much CPU time of their thread. */
void hot(uint64_t ms);
void cold(uint64_t ms);

/* Returns the thread's CPU time. */
uint64_t thread_ns(void);

/* Returns once the first thread sleeps. */
void await_sleep_of_first(void);

/* In turns, the first thread waits by this means for another thread or process, which works. */
int has_chain(const char* means);
void chain(const char* means);
