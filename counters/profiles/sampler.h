// SPDX-License-Identifier: MIT
// Samples a process and all its descendants on every CPU, from its exec until they end. drain() has
// to empty the kernel's rings now and then.
//
// At most `most_samples` are kept, however long the program runs: when the list is full, every
// second sample is dropped, and the weights of the others are doubled.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "counters/events/event.h"
#include "counters/profiles/records.h"

namespace stab::counters {

inline constexpr std::size_t most_samples = std::size_t{1} << 19;
inline constexpr std::size_t most_other_records = std::size_t{1} << 18;

// Finds an event for sampling. Unlike counting, sampling can exclude the kernel's side of clocks,
// as in "task-clock:u". Without ":u", clocks sample both sides, which may need special rights.
Result<Event> find_sampled(const std::string& name);

// The lists are in no particular order.
struct Taken {
  std::vector<Sample> samples{};
  std::vector<Mapped> mapped{};
  std::vector<Forked> forked{};
  std::vector<Executed> executed{};
  std::uint64_t lost = 0;                            // records
  std::uint64_t complete_until = ~std::uint64_t{0};  // from this time on, records may be missing
};

class SampleList {
 public:
  explicit SampleList(std::size_t most) : most_(most) {}
  void add(const Sample& sample);
  std::vector<Sample> take();

 private:
  std::size_t most_;  // even
  std::uint64_t seen_ = 0;
  std::uint64_t every_ = 1;  // one of this many samples is kept
  std::vector<Sample> kept_;
};

class Sampler {
 public:
  // Must be called while the process waits before exec. The error says why it can't be sampled, and
  // how to fix it.
  static std::expected<Sampler, std::string> begin(const Event& event, std::uint32_t hz,
                                                   pid_t process);

  // Readable when a ring is half full; then call drain().
  [[nodiscard]] int fd() const { return readable_.get(); }
  void drain();
  // Must be called after all processes have ended.
  Taken end();

 private:
  void forget_hung_up();
  class Ring {
   public:
    Ring() = default;
    Ring(Fd event, void* memory, std::size_t size);
    Ring(Ring&& other) noexcept;
    Ring& operator=(Ring&&) = delete;
    ~Ring();
    [[nodiscard]] int fd() const { return event_.get(); }
    template <class F>
    void take(F&& record);

    std::uint64_t told_until = 0;  // the time of the last record

   private:
    Fd event_;
    void* memory_ = nullptr;
    std::size_t size_ = 0;  // size of the data, a power of two
    std::vector<std::byte> piece_;
  };
  static std::expected<Ring, std::string> open_ring(const Event& event, perf_event_attr attr,
                                                    pid_t process, int cpu);

  void keep(const Record& record, std::uint64_t before);
  template <class T>
  void keep_other(std::vector<T>& list, const T& record);

  std::vector<Ring> rings_;
  Fd readable_;
  Taken taken_;
  SampleList samples_{most_samples};
};

}  // namespace stab::counters
