// SPDX-License-Identifier: MIT
// What is read from a vtable stays right for ever, wherever it is kept: in the heap, in a copy of the vtable, in the frame of
// a coroutine, in a register of a long loop, on another thread.
// link: -pthread
// variants: -O0 -std=c++20 -fvisibility=hidden | -O2 -std=c++20 -fvisibility=hidden | -O2 -std=c++20 -fno-pie -no-pie -fvisibility=hidden | -O2 -std=c++20 -fno-pie -no-pie
#include "hazard.h"
#include <coroutine>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>

class Counter {
 public:
  explicit Counter(long start) : start_(start) {}
  virtual ~Counter() = default;
  virtual long tiny() const { return start_; }
  virtual long next(long by) const { return tiny() + by; }
  virtual long both(long by) const = 0;
  virtual long refuse(long by) const {
    if (by % 2 != 0) throw std::runtime_error("odd");
    return next(by);
  }

 protected:
  long start_;
};

class Twice final : public Counter {
 public:
  using Counter::Counter;
  long both(long by) const override { return next(by) + next(by); }
};

class Worker final : public Counter {
 public:
  using Counter::Counter;
  long tiny() const override { return -start_; }
  long both(long by) const override {
    work_once();
    return 2 * next(by);
  }
};

// As the ABI has it: two destructors, then the others in their order.
enum { TINY = 2, NEXT, BOTH, REFUSE, ENTRIES };
using Entry = long (*)(const Counter *, long);

NOINLINE static void **vtable_of(const Counter *object) {
  void **table;
  memcpy(&table, object, sizeof table);
  return table;
}
NOINLINE static Entry read(const Counter *object, int which) { return reinterpret_cast<Entry>(vtable_of(object)[which]); }

struct Kept {
  const Counter *object;
  Entry entries[ENTRIES];
};

NOINLINE static void use(const Kept &kept, long by) {
  const Counter &o = *kept.object;
  const long start = o.tiny();
  CHECK(kept.entries[TINY](&o, 0) == start);
  CHECK(kept.entries[NEXT](&o, by) == start + by);
  CHECK(kept.entries[BOTH](&o, by) == 2 * (start + by));
  bool refused = false;
  try {
    CHECK(kept.entries[REFUSE](&o, by) == start + by);
  } catch (const std::runtime_error &) {
    refused = true;
  }
  CHECK(refused == (by % 2 != 0));
}

// A copy of the vtable, with what lies before it, and an object that has it.
class Cloned {
 public:
  explicit Cloned(const Counter *object) : table_(new void *[ENTRIES + 2]), object_(new char[sizeof(Twice)]) {
    memcpy(table_.get(), vtable_of(object) - 2, (ENTRIES + 2) * sizeof(void *));
    memcpy(object_.get(), static_cast<const void *>(object), sizeof(Twice));
    void **start = table_.get() + 2;
    memcpy(object_.get(), &start, sizeof start);
  }
  const Counter *get() const { return reinterpret_cast<const Counter *>(object_.get()); }

 private:
  std::unique_ptr<void *[]> table_;
  std::unique_ptr<char[]> object_;
};

struct Steps {
  struct promise_type {
    long value = 0;
    Steps get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_always initial_suspend() { return {}; }
    std::suspend_always final_suspend() noexcept { return {}; }
    std::suspend_always yield_value(long v) {
      value = v;
      return {};
    }
    void return_void() {}
    void unhandled_exception() { abort(); }
  };
  std::coroutine_handle<promise_type> handle;
};
static Steps steps(const Counter *object) {
  const Entry entry = read(object, BOTH);
  for (long i = 0;; ++i) co_yield entry(object, i);
}

// How many different addresses a function had.
static size_t entries_of(const std::vector<Kept> &kept, const Counter *object) {
  std::set<Entry> entries;
  for (const Kept &one : kept)
    if (one.object == object) entries.insert(one.entries[NEXT]);
  return entries.size();
}

static int stop;
static volatile long rounds = 1000000000000;
// The entry may be read once, before the loop.
static void *loop(void *object) {
  const auto *counter = static_cast<const Counter *>(object);
  const Entry entry = read(counter, NEXT);
  const long start = counter->tiny();
  for (long i = 0; i < rounds && !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) CHECK(entry(counter, i) == start + i);
  return nullptr;
}
// It sleeps while the entry waits in its frame.
static void *doze(void *object) {
  const auto *counter = static_cast<const Counter *>(object);
  for (long i = 0; !__atomic_load_n(&stop, __ATOMIC_RELAXED); ++i) {
    const Entry entry = read(counter, BOTH);
    const timespec time = in_ns(3000000);
    nanosleep(&time, nullptr);
    CHECK(entry(counter, i) == 2 * (counter->tiny() + i));
  }
  return nullptr;
}

int main() {
  const Twice twice(5);
  const Worker worker(6);
  const Counter *objects[] = {&twice, &worker};
  const Entry first = read(&twice, NEXT);
  std::vector<Kept> kept;
  std::vector<Cloned> cloned;
  Steps slow[] = {steps(&twice), steps(&worker)};
  pthread_t threads[] = {start_thread(loop, const_cast<Twice *>(&twice)), start_thread(doze, const_cast<Worker *>(&worker))};
  double remember = 0;
  long by = 0;
  for (double end = section(1); before(end); ++by) {
    const Counter *object = objects[by % 2];
    if (cpu_ms() > remember) {
      kept.push_back({object, {nullptr, nullptr, read(object, TINY), read(object, NEXT), read(object, BOTH), read(object, REFUSE)}});
      cloned.emplace_back(object);
      for (Steps &one : slow) one.handle.resume();
      remember = cpu_ms() + whole_ms() / 100;
    }
    use(kept[static_cast<size_t>(by * 7919) % kept.size()], by);
    const Counter *clone = cloned[static_cast<size_t>(by * 104729) % cloned.size()].get();
    CHECK(clone->next(by) == clone->tiny() + by && clone->both(by) == 2 * (clone->tiny() + by));
  }
  for (Steps &one : slow) {
    const long before_last = one.handle.promise().value;
    one.handle.resume();
    CHECK(one.handle.promise().value == before_last + 2);
    one.handle.destroy();
  }
  __atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
  for (const pthread_t thread : threads) join_thread(thread);
  CHECK(read(&twice, NEXT) == first);
  CHECK(entries_of(kept, &twice) == 1);
  puts("all entries led to their functions");
}
