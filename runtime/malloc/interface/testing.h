// SPDX-License-Identifier: MIT
// For tests of allocators. A process has one allocator for its whole life, so each test runs in a
// child.
#pragma once

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/base/random.h"
#include "runtime/malloc/allocators/allocator.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/interface/open.h"

namespace stab::heap {

// Opens an allocator as heap.cc does, in front of the system's heap.
inline const Allocator& open(rt::Base base, std::uint64_t seed = 1) {
  find_system_heap();
  rt::Options options;
  options.allocator = base;
  return open_allocator(options, seed);
}

// Whether `check` returns true in a child. A crash there counts as false.
inline bool holds(const std::function<bool()>& check) {
  const pid_t child = fork();
  if (child == 0) _exit(check() ? 0 : 1);
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Whether the heap aborts a child that does this.
inline bool ends(const std::function<void()>& misuse) {
  const pid_t child = fork();
  if (child == 0) {
    misuse();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

#if __has_feature(thread_sanitizer)
// ThreadSanitizer does not see how libc's malloc orders threads, so such tests are skipped.
inline constexpr bool watches_threads = true;
#else
inline constexpr bool watches_threads = false;
#endif

// AddressSanitizer keeps one byte for each of this many bytes that were ever used; 0: no sanitizer
// does.
#if __has_feature(address_sanitizer)
inline constexpr unsigned long shadowed_bytes = 8;
#else
inline constexpr unsigned long shadowed_bytes = 0;
#endif

struct StressBlock {
  unsigned char* at = nullptr;
  std::size_t size = 0;
  unsigned char mark = 0;

  void fill() const { std::memset(at, mark, size); }
  [[nodiscard]] bool whole(std::size_t bytes) const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (at[i] != mark) return false;
    return true;
  }
};

// Threads call an allocator in all the ways that programs do. A pattern in each block shows whether
// another thread wrote to it.
class Stress {
 public:
  Stress(const Allocator& allocator, std::uint64_t seed) : allocator_(allocator), seed_(seed) {}

  // Returns false if something was wrong, and writes the first fault to standard error.
  bool run(unsigned threads, unsigned steps) {
    std::vector<std::thread> all;
    for (unsigned t = 0; t < threads; ++t) all.emplace_back([=, this] { work(t, steps); });
    for (auto& thread : all) thread.join();
    for (const StressBlock& block : shared_) release(block);
    shared_.clear();
    return faults_ == 0;
  }

 private:
  void fault(const char* what, const StressBlock& block) {
    if (faults_++ == 0)
      std::fprintf(stderr, "%s: %s, %zu bytes at %p\n", allocator_.name, what, block.size,
                   static_cast<void*>(block.at));
  }

  static std::size_t size(rt::Random& random) {
    switch (random.below(16)) {
      case 0:
        return random.below(300000);
      case 1:
        return random.below(40000);
      case 2:
      case 3:
        return random.below(4000);
      default:
        return random.below(300);
    }
  }

  StressBlock allocate(rt::Random& random) {
    StressBlock block;
    block.size = size(random);
    block.mark = static_cast<unsigned char>(random.next());
    std::size_t alignment = 16;
    switch (random.below(8)) {
      case 0:
        block.at = static_cast<unsigned char*>(allocator_.allocate_zeroed(block.size));
        if (StressBlock{block.at, block.size, 0}.whole(block.size)) break;
        fault("not zero", block);
        break;
      case 1:
        alignment = std::size_t{16} << random.below(10);
        block.at = static_cast<unsigned char*>(allocator_.allocate_aligned(alignment, block.size));
        break;
      default:
        block.at = static_cast<unsigned char*>(allocator_.allocate(block.size));
    }
    if (block.at == nullptr) std::abort();
    if (reinterpret_cast<std::uintptr_t>(block.at) % alignment != 0) fault("not aligned", block);
    if (allocator_.usable(block.at) < block.size) fault("too small", block);
    block.fill();
    return block;
  }

  void release(const StressBlock& block) {
    if (!block.whole(block.size)) fault("overwritten", block);
    allocator_.release(block.at);
  }

  void resize(StressBlock& block, rt::Random& random) {
    const std::size_t now = size(random) + 1;
    if (!block.whole(block.size)) fault("overwritten", block);
    block.at = static_cast<unsigned char*>(allocator_.resize(block.at, now));
    if (block.at == nullptr) std::abort();
    if (!block.whole(now < block.size ? now : block.size)) fault("lost in resize", block);
    block.size = now;
    block.fill();
  }

  // Swaps a block of this thread with one of another thread.
  void exchange(StressBlock& block, rt::Random& random) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (shared_.size() < 64) {
      shared_.push_back(block);
      block = {};
    } else {
      std::swap(block, shared_[random.below(shared_.size())]);
    }
  }

  void work(unsigned number, unsigned steps) {
    rt::Random random(seed_ + number * 1000003);
    std::vector<StressBlock> own(256);
    for (unsigned i = 0; i < steps; ++i) {
      StressBlock& block = own[random.below(own.size())];
      const std::uint64_t what = random.below(8);
      if (block.at == nullptr) {
        block = allocate(random);
      } else if (what == 0) {
        exchange(block, random);
      } else if (what == 1) {
        resize(block, random);
      } else {
        release(block);
        block = {};
      }
    }
    for (const StressBlock& block : own)
      if (block.at != nullptr) release(block);
  }

  const Allocator& allocator_;
  std::uint64_t seed_;
  std::atomic<int> faults_ = 0;
  std::mutex mutex_;
  std::vector<StressBlock> shared_;
};

}  // namespace stab::heap
