// SPDX-License-Identifier: MIT
// Addresses of code in places where nobody looks for them: in a register of a thread that sleeps, in a jmp_buf outside of any
// stack, in the frame of a coroutine.
// link: -pthread
// variants: -O0 -std=c++20 | -O2 -std=c++20
#include <poll.h>
#include <setjmp.h>

#include <atomic>
#include <coroutine>
#include <cstdio>
#include <thread>

static std::atomic<bool> done;
__attribute__((noinline)) static int burn_a_little(int x) {
  asm volatile("" : "+r"(x));
  return x + 1;
}
__attribute__((noinline)) static void spin(long n) {
  for (volatile long i = 0; i < n; i = i + 1) continue;
}

struct Base {
  virtual ~Base() = default;
  virtual int plus(int x) { return x + 1; }
  virtual int times(int x) { return x; }
};
struct Derived : Base {
  int factor = 2;
  int plus(int x) override { return x + factor; }
  int times(int x) override { return x * factor; }
};
using Member = int (Base::*)(int);

// The function is looked up before the sleep and called after it.
__attribute__((noinline)) static int across_a_sleep(Base *base, Member member) { return (base->*member)(poll(nullptr, 0, 20)); }

static jmp_buf environment;
__attribute__((noinline)) static int maybe_jump(int x) {
  spin(500000);
  if (x & 1) longjmp(environment, 1);
  return 0;
}
__attribute__((noinline)) static int set(int x) { return setjmp(environment) ? 1 : maybe_jump(x); }
static int counts[16];
__attribute__((noinline)) static void count(int k) { counts[k & 15] += 1; }
// Its jump table's address may be in a register that the jump restores.
__attribute__((noinline)) static int switching(int n) {
  int sum = 0;
  for (int i = 0; i < n; ++i) {
    sum += set(i);
    switch ((i * 7 + sum) & 7) {
    case 0: count(3); break;
    case 1: sum += 2; count(1); count(2); break;
    case 2: count(7); sum ^= 5; break;
    case 3: count(0); count(9); break;
    case 4: sum -= 3; count(4); break;
    case 5: count(11); sum *= 3; break;
    case 6: sum = ~sum; break;
    default: sum ^= 0x55; count(1);
    }
  }
  return sum;
}

struct Task {
  struct promise_type {
    int value = 0;
    Task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    void return_value(int v) { value = v; }
    void unhandled_exception() {}
  };
  std::coroutine_handle<promise_type> handle;
};
struct Later {
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<>) {}
  int await_resume() { return 5; }
};
static Task suspended(Base *base, Member member) { co_return (base->*member)(co_await Later{}); }

int main() {
  Derived derived;
  Base *volatile base = &derived;
  Member volatile member = &Base::plus;
  std::thread burner([] {
    for (int x = 0; !done;) x = burn_a_little(x);
  });
  long sum = 0;
  for (int i = 0; i < 10; ++i) {
    sum += across_a_sleep(base, member);
    Task task = suspended(base, member);
    task.handle.resume();
    spin(3000000);
    task.handle.resume();
    sum += task.handle.promise().value;
    task.handle.destroy();
  }
  for (int i = 0; i < 5; ++i) sum += switching(20);
  done = true;
  burner.join();
  std::printf("%ld\n", sum);
}
