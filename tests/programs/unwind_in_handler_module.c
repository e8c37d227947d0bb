// SPDX-License-Identifier: MIT
#include <unistd.h>

extern int is_loading, has_unwound;

__attribute__((constructor)) static void wait_in_loader(void) {
  __atomic_store_n(&is_loading, 1, __ATOMIC_SEQ_CST);
  while (!__atomic_load_n(&has_unwound, __ATOMIC_SEQ_CST)) usleep(1000);
}
