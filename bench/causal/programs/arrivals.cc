// SPDX-License-Identifier: MIT
// Producers wait for a timer, and consumers work on the CPU. The program shows the effect of a real
// load, for comparison with the prediction from a virtual load.
//   arrivals LOAD REQUESTS CONSUMERS [FASTER]    LOAD is the load in permille of the base load, and FASTER is by how
//                                                many permille the line is faster
// Prints the number of requests per second, and their mean time from arrival to end.
#include <sys/prctl.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <queue>
#include <random>
#include <thread>
#include <vector>

#include "work.h"

namespace {

using Clock = std::chrono::steady_clock;

// Together they bring 1000 requests a second at the base load, each of about half a millisecond.
constexpr int producers = 4;
constexpr double wait_ns = 4e6;
constexpr long steps_of_request = 1'300'000;

std::mutex mutex;
std::condition_variable has_request;
std::queue<Clock::time_point> requests;
bool is_over = false;
Clock::duration in_system{};
Clock::time_point last_end{};

__attribute__((noinline)) void serve(long steps) {
  BUSY(steps);  // line
}

void consume(long steps) {
  for (;;) {
    std::unique_lock lock(mutex);
    has_request.wait(lock, [] { return !requests.empty() || is_over; });
    if (requests.empty()) return;
    const Clock::time_point arrived = requests.front();
    requests.pop();
    lock.unlock();
    serve(steps);
    STAB_PROGRESS_END("request");
    STAB_PROGRESS("served");
    lock.lock();
    last_end = Clock::now();
    in_system += last_end - arrived;
  }
}

// Waits differ by up to a tenth, so that producers do not stay in step. They are the same at each load.
void produce(unsigned seed, long count, double load) {
  prctl(PR_SET_TIMERSLACK, 1);
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> near(0.9, 1.1);
  for (long i = 0; i < count; ++i) {
    const auto ns = static_cast<std::int64_t>(wait_ns * near(random) / load);
    std::this_thread::sleep_for(std::chrono::nanoseconds(ns));
    STAB_ARRIVAL("request");
    STAB_PROGRESS_BEGIN("request");
    const std::lock_guard lock(mutex);
    requests.push(Clock::now());
    has_request.notify_one();
  }
}

}  // namespace

int main(int count, char** words) {
  const bool is_whole = count == 4 || count == 5;
  const double load = is_whole ? std::atof(words[1]) / 1000 : 0;
  const long each = is_whole ? std::atol(words[2]) / producers : 0;
  const int consumers = is_whole ? std::atoi(words[3]) : 0;
  const long faster = count == 5 ? std::atol(words[4]) : 0;
  if (load <= 0 || each < 1 || consumers < 1 || faster < 0 || faster >= 1000) {
    std::fprintf(stderr, "usage: %s PERMILLE REQUESTS CONSUMERS [PERMILLE]\n", words[0]);
    return 2;
  }
  const long steps = steps_of_request * (1000 - faster) / 1000;
  const Clock::time_point start = Clock::now();
  std::vector<std::thread> working;
  std::vector<std::thread> bringing;
  for (int i = 0; i < consumers; ++i) working.emplace_back(consume, steps);
  for (unsigned i = 0; i < producers; ++i) bringing.emplace_back(produce, i + 1, each, load);
  for (std::thread& thread : bringing) thread.join();
  {
    const std::lock_guard lock(mutex);
    is_over = true;
    has_request.notify_all();
  }
  for (std::thread& thread : working) thread.join();
  const double all = static_cast<double>(each) * producers;
  std::printf("per_second %.2f\nns_latency %.1f\n",
              all / std::chrono::duration<double>(last_end - start).count(),
              std::chrono::duration<double, std::nano>(in_system).count() / all);
}
