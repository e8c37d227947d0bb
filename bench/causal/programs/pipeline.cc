// SPDX-License-Identifier: MIT
// Two stages with a bounded queue between them. The second stage is the slower one.
#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>

#include "work.h"

namespace {

class Queue {
 public:
  void put(long item) {
    std::unique_lock lock(mutex_);
    has_room_.wait(lock, [&] { return items_.size() < 16; });
    items_.push(item);
    has_item_.notify_one();
  }
  long take() {
    std::unique_lock lock(mutex_);
    has_item_.wait(lock, [&] { return !items_.empty(); });
    const long item = items_.front();
    items_.pop();
    has_room_.notify_one();
    return item;
  }

 private:
  std::mutex mutex_;
  std::condition_variable has_room_;
  std::condition_variable has_item_;
  std::queue<long> items_;
};

__attribute__((noinline)) void prepare() {
  BUSY(1'200'000);
}

__attribute__((noinline)) void finish(const Bench& bench) {
  BUSY(bench.faster(1'800'000));  // knob
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  Queue queue;
  std::thread first([&] {
    for (long i = 0; i < bench.visits(); ++i) {
      prepare();
      queue.put(i);
    }
  });
  for (long i = 0; i < bench.visits(); ++i) {
    queue.take();
    finish(bench);
    STAB_PROGRESS("item");
  }
  first.join();
}
