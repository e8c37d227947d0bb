// SPDX-License-Identifier: MIT
// A handler throws and walks its stack while another thread has the loader's lock and waits for it, in a constructor of what it
// loads: to unwind takes no lock.
// module: unwind_in_handler_module.c
// variants: -O0 -pthread -ldl | -O2 -pthread -ldl
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
#include <unwind.h>

extern "C" int is_loading, has_unwound;
int is_loading, has_unwound;
static int caught, frames;

static _Unwind_Reason_Code count(struct _Unwind_Context *, void *) {
  ++frames;
  return _URC_NO_REASON;
}
__attribute__((noinline)) static void refuse(int number) {
  if (number == SIGUSR1) throw number;
}
static void on_signal(int number) {
  try {
    refuse(number);
  } catch (int thrown) {
    caught += thrown == number;
  }
  _Unwind_Backtrace(count, nullptr);
}
static void *load(void *) {
  return dlopen("./unwind_in_handler_module.so", RTLD_NOW);
}

int main() {
  pthread_t loader;
  void *module = nullptr;
  caught = frames = is_loading = has_unwound = 0;
  alarm(60);  // who waits for the lock waits for ever
  signal(SIGUSR1, on_signal);
  if (pthread_create(&loader, nullptr, load, nullptr) != 0) return 1;
  while (!__atomic_load_n(&is_loading, __ATOMIC_SEQ_CST)) usleep(1000);
  raise(SIGUSR1);
  __atomic_store_n(&has_unwound, 1, __ATOMIC_SEQ_CST);
  pthread_join(loader, &module);
  if (module == nullptr || dlclose(module) != 0) return 2;
  alarm(0);
  printf("caught %d, walked %s\n", caught, frames >= 3 ? "to main" : "no further");
  return 0;
}
