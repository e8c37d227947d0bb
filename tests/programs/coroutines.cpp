// SPDX-License-Identifier: MIT
// Coroutines, with exceptions out of them.
// variants: -O0 -std=c++20 | -O2 -std=c++20
#include <coroutine>
#include <cstdio>
#include <exception>

struct Generator {
  struct promise_type {
    int value = 0;
    std::exception_ptr error;
    Generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(int v) { value = v; return {}; }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };
  std::coroutine_handle<promise_type> handle;
  bool next() {
    handle.resume();
    if (handle.promise().error) std::rethrow_exception(handle.promise().error);
    return !handle.done();
  }
  ~Generator() { handle.destroy(); }
  Generator(std::coroutine_handle<promise_type> h) : handle(h) {}
  Generator(const Generator&) = delete;
};
static Generator count(int from, int to) {
  for (int i = from; i < to; ++i) {
    if (i == 13) throw i;
    co_yield i* i;
  }
}
int main() {
  long sum = 0;
  for (auto range = count(0, 10); range.next();) sum += range.handle.promise().value;
  try {
    for (auto range = count(10, 20); range.next();) sum += range.handle.promise().value;
  } catch (int n) {
    sum += n * 100000;
  }
  std::printf("%ld\n", sum);
  return 0;
}
