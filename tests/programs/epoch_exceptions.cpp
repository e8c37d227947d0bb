// SPDX-License-Identifier: MIT
// Exceptions while functions move: through a hundred frames with cleanups and catch-alls, rethrown, out of destructors' own
// work, nested, between threads, against specifications and noexcept, and through qsort of libc.
// link: -pthread
// variants: -O0 -std=c++14 | -O2 -std=c++14 | -O2 -std=c++14 -static-libgcc -static-libstdc++ | -Os -std=c++14 -fno-pie -no-pie
#include "hazard.h"
#include <sys/wait.h>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

struct Problem : std::runtime_error {
  Problem(int l) : std::runtime_error("problem at " + std::to_string(l)), level(l) {}
  int level;
};
struct Counted {
  Counted(int* n) : alive(n) { ++*alive; }
  ~Counted() { work(20); --*alive; }
  int* alive;
};

[[gnu::noinline]] static int through_cleanups(int depth, int* alive) {
  Counted here(alive);
  if (depth == 0) throw Problem(*alive);
  switch (depth % 4) {
  case 0:
    try {
      return through_cleanups(depth - 1, alive) + 1;
    } catch (...) {
      work(20);
      throw;
    }
  case 1:
    try {
      return through_cleanups(depth - 1, alive) + 2;
    } catch (const std::logic_error&) {
      CHECK(!"not this one");
    }
    return 0;
  default: return through_cleanups(depth - 1, alive) + 3;
  }
}
static void deep(double end) {
  while (before(end)) {
    int alive = 0;
    try {
      through_cleanups(100, &alive);
      CHECK(!"it throws");
    } catch (const std::runtime_error& error) {
      CHECK(alive == 0 && strcmp(error.what(), "problem at 101") == 0);
      CHECK(!std::uncaught_exception());
    }
  }
}

// While one exception unwinds, destructors throw and catch others.
struct Thrower {
  explicit Thrower(int d) : depth(d) {}
  ~Thrower() {
    const bool flying = std::uncaught_exception();
    try {
      if (depth > 0) {
        Thrower inner(depth - 1);
        throw depth;
      }
    } catch (int n) {
      CHECK(n == depth && std::uncaught_exception() == flying);
    }
  }
  int depth;
};
static void in_destructors(double end) {
  while (before(end)) {
    try {
      Thrower outer(20);
      throw std::string("outer");
    } catch (const std::string& text) {
      CHECK(text == "outer");
    }
  }
}

[[gnu::noinline]] static void nest(int depth) {
  try {
    if (depth == 0) throw Problem(0);
    nest(depth - 1);
  } catch (...) {
    std::throw_with_nested(Problem(depth));
  }
}
static int nesting(const std::exception& error) {
  work(20);
  try {
    std::rethrow_if_nested(error);
  } catch (const std::exception& inner) {
    return nesting(inner) + 1;
  }
  return 0;
}
static void nested(double end) {
  while (before(end)) {
    try {
      nest(12);
    } catch (const Problem& problem) {
      CHECK(problem.level == 12 && nesting(problem) == 13);
    }
  }
}

// Thrown here, carried to another thread, thrown again there, and back.
static void* rethrow(void* pointer) {
  auto& error = *static_cast<std::exception_ptr*>(pointer);
  try {
    std::rethrow_exception(error);
  } catch (Problem& problem) {
    work_ms(1.2);
    problem.level += 1;
    error = std::current_exception();
  }
  return nullptr;
}
static void across_threads(double end) {
  while (before(end)) {
    int alive = 0;
    std::exception_ptr error;
    try {
      through_cleanups(10, &alive);
    } catch (...) {
      error = std::current_exception();
    }
    for (int i = 0; i < 3; ++i) join_thread(start_thread(rethrow, &error));
    try {
      std::rethrow_exception(error);
    } catch (const Problem& problem) {
      CHECK(problem.level == 14);
    }
  }
}

// Dynamic specifications and noexcept.
static void unexpected_to_int() { work_once(); throw 42; }
[[gnu::noinline]] static void only_int_or_string(int what) throw(int, std::string) {
  work(20);
  if (what == 0) throw 7;
  if (what == 1) throw std::string("allowed");
  throw Problem(what);
}
[[gnu::noinline]] static void nothing(void (*run)()) noexcept { run(); }
static void throw_problem() { throw Problem(1); }
static void end_well() { work_once(); _exit(33); }
static void specifications(double end) {
  std::set_unexpected(unexpected_to_int);
  for (int i = 0; before(end); ++i) {
    try {
      only_int_or_string(i % 3);
      CHECK(!"it throws");
    } catch (int n) {
      CHECK(n == (i % 3 == 0 ? 7 : 42));
    } catch (const std::string&) {
      CHECK(i % 3 == 1);
    }
    if (i % 200 != 0) continue;
    pid_t pid = fork();
    if (pid == 0) {
      std::set_terminate(end_well);
      nothing(throw_problem);
      _exit(34);
    }
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 33);
  }
}

static int compare(const void* a, const void* b) {
  const int x = *static_cast<const int*>(a), y = *static_cast<const int*>(b);
  work(3);
  if (x == 500 || y == 500) throw Problem(500);
  return x < y ? -1 : x > y;
}
[[gnu::noinline]] static void sort(std::vector<int>& numbers) { qsort(numbers.data(), numbers.size(), sizeof(int), compare); }
static void through_libc(double end) {
  uint32_t state = 4;
  while (before(end)) {
    std::vector<int> numbers;
    for (int i = 0; i < 64; ++i) numbers.push_back((int)(draw(&state) % 499));
    sort(numbers);
    for (size_t i = 1; i < numbers.size(); ++i) CHECK(numbers[i - 1] <= numbers[i]);
    numbers[draw(&state) % 64] = 500;
    try {
      sort(numbers);
      CHECK(!"it throws");
    } catch (const Problem& problem) {
      CHECK(problem.level == 500);
    }
  }
}

// Partly built objects, arrays and function try blocks.
struct Part {
  Part(int n, int* a) try : counted(a), number(n) {
    if (n == 5) throw std::bad_alloc();
  } catch (...) {
    work(20);
  }
  Counted counted;
  int number;
};
static void constructors(double end) {
  while (before(end)) {
    int alive = 0;
    try {
      std::vector<std::unique_ptr<Part>> parts;
      for (int i = 0; i < 10; ++i) parts.push_back(std::unique_ptr<Part>(new Part(i, &alive)));
      CHECK(!"it throws");
    } catch (const std::bad_alloc&) {
      CHECK(alive == 0);
    }
  }
}

using Part_ = void (*)(double);
static const Part_ sections[] = {deep, in_destructors, nested, across_threads, through_libc, constructors};
static double threads_end;
static void* in_thread(void* which) {
  sections[(intptr_t)which](threads_end);
  return nullptr;
}
int main() {
  for (Part_ run : sections) run(section(0.1));
  specifications(section(0.1));
  threads_end = section(0.3);
  pthread_t threads[6];
  for (intptr_t i = 0; i < 6; ++i) threads[i] = start_thread(in_thread, (void*)i);
  for (auto thread : threads) join_thread(thread);
  puts("every exception arrived");
  return 0;
}
