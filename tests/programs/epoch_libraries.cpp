// SPDX-License-Identifier: MIT
// A moved library is opened, used and closed again and again while functions move: calls both ways, exceptions, long calls
// into it, while other threads work, unwind, and open it as well.
// module: epoch_libraries_module.cpp
// link: -ldl -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <dlfcn.h>
#include <stdexcept>

extern "C" {
int library_events;
void library_event(int what) { __atomic_add_fetch(&library_events, what, __ATOMIC_RELAXED); }
int library_callback(int n) {
  work(50);
  if (n % 5 == 0) throw std::length_error("by the callback");
  return n * 2;
}
}

struct Library {
  explicit Library(int flags) : handle(dlopen("./epoch_libraries_module.so", flags)) { CHECK(handle != nullptr); }
  ~Library() { CHECK(dlclose(handle) == 0); }
  template <class F> F* get(const char* name) { return reinterpret_cast<F*>(dlsym(handle, name)); }
  void* handle;
};

[[gnu::noinline]] static void use(Library& library, int round) {
  auto run = library.get<int(int)>("library_run");
  auto raise = library.get<int(int)>("library_raise");
  auto spin = library.get<int(double)>("library_spin");
  CHECK(run && raise && spin);
  CHECK(run(round) == round * 2 + 1 || round % 5 == 0);
  try {
    raise(round);
    CHECK(!"it throws");
  } catch (const std::domain_error& error) {
    CHECK(strcmp(error.what(), "by the library") == 0);
  }
  CHECK(spin(1.5) == 1);
}
static void open_and_close(double part) {
  int rounds = 0;
  for (double end = section(part); before(end); ++rounds) {
    Library library(rounds % 2 ? RTLD_NOW : RTLD_LAZY);
    use(library, rounds);
  }
  CHECK(library_events == 0 && rounds > 0);
}
static double racing_end;
static void* race(void*) {
  for (int i = 1; before(racing_end); ++i) {
    Library library(RTLD_NOW);
    use(library, i);
  }
  return nullptr;
}
[[gnu::noinline]] static int throw_below(int depth) {
  if (depth == 0) throw depth;
  return throw_below(depth - 1) + 1;
}
static void* unwind(void* stop) {
  while (!__atomic_load_n((int*)stop, __ATOMIC_ACQUIRE)) {
    try {
      throw_below(15);
    } catch (int) {
      work(100);
    }
  }
  return nullptr;
}

int main() {
  open_and_close(0.4);
  int stop = 0;
  pthread_t unwinder = start_thread(unwind, &stop);
  open_and_close(0.3);
  racing_end = section(0.3);
  pthread_t threads[2];
  for (auto& thread : threads) thread = start_thread(race, nullptr);
  race(nullptr);
  for (auto thread : threads) join_thread(thread);
  end_burning(&stop, unwinder);
  CHECK(library_events == 0);
  puts("the library came and went");
  return 0;
}
