// SPDX-License-Identifier: MIT
// Requests arrive by a timer and wait for one of some consumers: what more load does to their
// latency, and what faster consumers would.
//   requests KNOB REQUESTS CONSUMERS PERIOD_US
// Prints the mean time from arrival to end, and the time between two arrivals.
#include <condition_variable>
#include <mutex>
#include <queue>
#include <string>
#include <thread>
#include <vector>

#include "work.h"

namespace {

using Clock = std::chrono::steady_clock;

std::mutex mutex;
std::condition_variable has_request;
std::queue<Clock::time_point> requests;
bool is_over = false;
Clock::duration in_system{};

__attribute__((noinline)) void serve(const Bench& bench) {
  BUSY(bench.faster(900'000));  // knob
}

void consume(const Bench& bench) {
  for (;;) {
    std::unique_lock lock(mutex);
    has_request.wait(lock, [] { return !requests.empty() || is_over; });
    if (requests.empty()) return;
    const Clock::time_point arrived = requests.front();
    requests.pop();
    lock.unlock();
    serve(bench);
    STAB_PROGRESS_END("request");
    STAB_PROGRESS("served");
    lock.lock();
    in_system += Clock::now() - arrived;
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 5) {
    std::fprintf(stderr, "usage: %s PERMILLE REQUESTS CONSUMERS PERIOD_US\n", words[0]);
    return 2;
  }
  const Bench bench(3, words);
  const std::chrono::microseconds period(std::atol(words[4]));
  std::vector<std::thread> consumers;
  for (long i = 0; i < std::atol(words[3]); ++i) consumers.emplace_back(consume, std::cref(bench));
  for (long i = 0; i < bench.visits(); ++i) {
    std::this_thread::sleep_for(period);
    STAB_ARRIVAL("request");
    STAB_PROGRESS_BEGIN("request");
    const std::lock_guard lock(mutex);
    requests.push(Clock::now());
    has_request.notify_one();
  }
  {
    const std::lock_guard lock(mutex);
    is_over = true;
    has_request.notify_all();
  }
  for (std::thread& each : consumers) each.join();
  const std::chrono::duration<double, std::nano> all = in_system;
  std::printf("ns_latency %.1f\n", all.count() / static_cast<double>(bench.visits()));
}
