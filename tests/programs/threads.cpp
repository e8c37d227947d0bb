// SPDX-License-Identifier: MIT
// Threads that throw, cancel, and use thread-local destructors and call_once.
// link: -pthread
// variants: -O0 | -O2
#include <pthread.h>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

static std::atomic<long> total;
static std::once_flag once;
struct PerThread {
  ~PerThread() { total += 1; }
  int used = 0;
};
static thread_local PerThread per_thread;
[[gnu::noinline]] static long work(int n) {
  if (n % 5 == 0) throw std::runtime_error("five");
  return n % 3 == 0 ? work(n / 3) + 1 : n;
}
static void run(int id) {
  std::call_once(once, [] { total += 1000000; });
  per_thread.used = id;
  for (int i = 1; i < 2000; ++i) {
    try {
      total += work(i * id);
    } catch (const std::exception&) {
      total += 7;
    }
  }
}
static void cleanup(void* p) { *static_cast<int*>(p) = 1; }
static int cleaned;
static void* cancelled(void*) {
  pthread_cleanup_push(cleanup, &cleaned);
  for (;;) pthread_testcancel();
  pthread_cleanup_pop(0);
  return nullptr;
}
int main() {
  std::vector<std::thread> threads;
  for (int i = 1; i <= 4; ++i) threads.emplace_back(run, i);
  for (auto& t : threads) t.join();
  pthread_t victim;
  pthread_create(&victim, nullptr, cancelled, nullptr);
  pthread_cancel(victim);
  void* result;
  pthread_join(victim, &result);
  std::printf("%ld %d %d\n", total.load(), cleaned, result == PTHREAD_CANCELED);
  return 0;
}
