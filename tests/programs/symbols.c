// SPDX-License-Identifier: MIT
// Weak symbols, present and absent; aliases; ifuncs; visibility.
// sources: symbols_other.c
// variants: -O0 | -O2 | -O2 -fno-plt | -O2 -fno-pie -no-pie | -O2 -fPIC
#include <stdio.h>

__attribute__((weak)) int overridden(void) { return 1; }
__attribute__((weak)) int kept(void) { return 2; }
__attribute__((weak)) int absent(void);
int original(int x) { return x + 40; }
int also(int x) __attribute__((alias("original")));
static int fast(int x) { return x * 2; }
static int slow(int x) { return x + x; }
static int (*choose(void))(int) { return __builtin_cpu_supports("sse4.2") ? fast : slow; }
int chosen(int x) __attribute__((ifunc("choose")));
int (*pointer_to_chosen)(int) = chosen;
__attribute__((visibility("hidden"))) int hidden_function(int x) { return x - 1; }

int main(void) {
  __builtin_cpu_init();
  int r = absent ? absent() : 0;
  printf("%d %d %d %d %d %d %d\n", overridden(), kept(), r, also(2), also == original, chosen(21), pointer_to_chosen(4));
  printf("%d %d\n", pointer_to_chosen == chosen, hidden_function(9));
  return also(0);
}
