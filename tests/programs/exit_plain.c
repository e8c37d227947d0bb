// SPDX-License-Identifier: MIT
// Of exit.c: its destructor calls back into a library whose own destructors have run.
static void (*at_end)(void);
void call_at_the_end(void (*function)(void)) { at_end = function; }
__attribute__((destructor)) static void end(void) {
  if (at_end) at_end();
}
