// SPDX-License-Identifier: MIT
// Coroutines that live through many epochs: suspended in the heap, awaiting each other, passed between threads, throwing,
// and destroyed while suspended.
// link: -pthread
// variants: -O0 -std=c++20 | -O2 -std=c++20
#include "hazard.h"
#include <coroutine>
#include <exception>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

struct Alive {
  static inline int count = 0;
  Alive() { __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED); }
  Alive(const Alive&) : Alive() {}
  ~Alive() { __atomic_sub_fetch(&count, 1, __ATOMIC_RELAXED); }
};

class Task {
 public:
  struct promise_type {
    long value = 0;
    std::exception_ptr error;
    std::coroutine_handle<> waiting;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() { return {}; }
    struct Final {
      bool await_ready() noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> ended) noexcept {
        return ended.promise().waiting ? ended.promise().waiting : std::noop_coroutine();
      }
      void await_resume() noexcept {}
    };
    Final final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(long v) { value = v; return {}; }
    void return_value(long v) { value = v; }
    void unhandled_exception() { error = std::current_exception(); }
  };
  explicit Task(std::coroutine_handle<promise_type> h) : handle_(h) {}
  Task(Task&& other) noexcept : handle_(other.handle_) { other.handle_ = nullptr; }
  ~Task() { if (handle_) handle_.destroy(); }
  // Awaiting runs the task to its end and passes its value or exception on.
  bool await_ready() { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiting) { handle_.promise().waiting = waiting; return handle_; }
  long await_resume() { return result(); }
  long result() {
    if (handle_.promise().error) std::rethrow_exception(std::exchange(handle_.promise().error, nullptr));
    return handle_.promise().value;
  }
  bool resume() { handle_.resume(); return !handle_.done(); }

 private:
  std::coroutine_handle<promise_type> handle_;
};

// Yields the sums of the numbers up to n, for ever.
static Task sums() {
  Alive alive;
  long total = 0;
  for (long i = 1;; ++i) {
    total += i;
    work(30);
    co_yield total;
  }
}

static void generators(double part) {
  struct Running { Task task; long asked = 0; };
  std::vector<Running> running;
  for (int i = 0; i < 300; ++i) running.push_back({sums()});
  uint32_t state = 9;
  for (double end = section(part); before(end);) {
    for (int i = 0; i < 50; ++i) {
      Running& one = running[draw(&state) % running.size()];
      one.task.resume();
      long n = ++one.asked;
      CHECK(one.task.result() == n * (n + 1) / 2);
    }
  }
}

// A tree of awaits; leaves whose number is divisible by 13 throw, and the nodes above catch at every third level.
static Task tree(int depth, long number) {
  Alive alive;
  work(20);
  if (depth == 0) {
    if (number % 13 == 0) throw std::out_of_range("leaf");
    co_return number;
  }
  long sum = 0;
  try {
    sum += co_await tree(depth - 1, number * 2);
    sum += co_await tree(depth - 1, number * 2 + 1);
  } catch (const std::out_of_range&) {
    if (depth % 3 != 0) throw;
    sum += 1000000;
  }
  co_return sum;
}
static long tree_once() {
  Task root = tree(6, 3);
  while (root.resume()) {}
  return root.result();
}
static void trees(double part) {
  const long expected = tree_once();
  for (double end = section(part); before(end);) CHECK(tree_once() == expected);
}

// Threads resume the same coroutines, one at a time.
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static std::vector<Task>* passed;
static std::vector<long> turns;
static double passing_end;
static void* pass(void* seed) {
  uint32_t state = (uint32_t)(uintptr_t)seed;
  while (before(passing_end)) {
    pthread_mutex_lock(&turn);
    size_t i = draw(&state) % passed->size();
    (*passed)[i].resume();
    long n = ++turns[i];
    CHECK((*passed)[i].result() == n * (n + 1) / 2);
    pthread_mutex_unlock(&turn);
    work_once();
  }
  return nullptr;
}
static void between_threads(double part) {
  std::vector<Task> tasks;
  for (int i = 0; i < 20; ++i) tasks.push_back(sums());
  passed = &tasks;
  turns.assign(tasks.size(), 0);
  passing_end = section(part);
  pthread_t threads[3];
  for (uintptr_t i = 0; i < 3; ++i) threads[i] = start_thread(pass, (void*)(i + 1));
  for (auto thread : threads) join_thread(thread);
}

int main() {
  generators(0.4);
  trees(0.3);
  between_threads(0.3);
  CHECK(Alive::count == 0);
  std::printf("%ld\n", tree_once());
  return 0;
}
