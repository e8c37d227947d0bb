// SPDX-License-Identifier: MIT
#include <setjmp.h>
#include <string.h>
#include <ucontext.h>

static jmp_buf *top;
static jmp_buf kept;
static ucontext_t context;
static volatile int value;

int guarded(int (*callback)(void *), void *argument) {
  jmp_buf own;
  top = &own;
  value = 0;
  setjmp(own);
  return value != 0 ? value : callback(argument);
}
void keep_guard(void) { memcpy(&kept, top, sizeof kept); }
void leave_guard(int with) {
  value = with;
  longjmp(kept, 1);
}

#ifdef CONTEXT
int guarded_context(int (*callback)(void *), void *argument) {
  value = 0;
  getcontext(&context);
  return value != 0 ? value : callback(argument);
}
void keep_context(void) {}
void leave_context(int with) {
  value = with;
  setcontext(&context);
}
// Never called: that a library could make contexts does not mean that it does.
void make_context(void) { makecontext(&context, 0, 0); }
#endif
