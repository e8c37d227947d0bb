// SPDX-License-Identifier: MIT
// The end of a program while functions move: exit below many frames and in a thread that is not the first, handlers of atexit
// and on_exit that take long and print, destructors of static and thread-local objects, and quick_exit in a child.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <sys/wait.h>

static double long_ms;
struct Static {
  explicit Static(int n) : number(n) { work_ms(1.2); printf("built %d\n", n); }
  ~Static() { work_ms(long_ms); printf("destroyed %d\n", number); }
  int number;
};
static Static first(1), second(2);
struct PerThread {
  ~PerThread() { work_ms(long_ms); printf("thread-local %d\n", number); }
  int number = 0;
};
static thread_local PerThread per_thread;

static void late() { work_ms(long_ms); puts("registered by a handler"); }
static void one() { work_ms(long_ms); puts("atexit one"); }
static void two() { work_ms(long_ms); puts("atexit two"); std::atexit(late); }
static void with_status(int status, void* word) { work_ms(long_ms); printf("on_exit %d %s\n", status, (const char*)word); }
static void quick() { work_ms(long_ms); _exit(21); }
__attribute__((constructor)) static void constructor() { work_ms(1.2); }
__attribute__((destructor)) static void destructor() { work_ms(long_ms); puts("destructor"); }

[[gnu::noinline]] static int leave(int depth) {
  work_once();
  if (depth == 0) std::exit(5);
  return leave(depth - 1) + 1;
}
static void* in_thread(void*) {
  per_thread.number = 7;
  leave(50);
  return nullptr;
}

int main() {
  long_ms = whole_ms() / 12;
  per_thread.number = 3;
  pid_t pid = fork();
  if (pid == 0) {
    std::at_quick_exit(quick);
    std::quick_exit(20);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 21);
  std::atexit(one);
  std::atexit(two);
  on_exit(with_status, (void*)"word");
  start_thread(in_thread, nullptr);
  for (;;) work_once();
}
