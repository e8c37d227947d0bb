// SPDX-License-Identifier: MIT
// The unwinder walks through moved frames: their number, and names by the addresses of the originals.
// variants: -O0 -fexceptions | -O2 -fexceptions
#include <execinfo.h>
#include <stdio.h>
#include <unwind.h>

static int frames;
static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *argument) {
  (void)context;
  (void)argument;
  ++frames;
  return _URC_NO_REASON;
}
static void on_leave(int *p) { frames += *p; }
__attribute__((noinline)) static int down(int n) {
  int on_exit __attribute__((cleanup(on_leave))) = 100;
  if (n == 0) {
    _Unwind_Backtrace(visit, 0);
    void *addresses[64];
    return backtrace(addresses, 64);
  }
  return down(n - 1) + (on_exit & 1);
}
int main(void) {
  int seen = down(20);
  printf("%d %d\n", frames >= 2000 + 22, seen >= 22);
  return 0;
}
