// SPDX-License-Identifier: MIT
// Makes the profile of a trial: samples its processes, and assigns each sample to the function that
// ran, by replaying all records in the order of time.
//
// Invariants:
//   1. A function's name is right or missing: code is "[unknown]" from the moment on at which
//      records may be missing, and in files that have changed since they were mapped.
//   2. The samples of all functions add up to the samples that were taken.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "counters/profiles/records.h"
#include "counters/profiles/sampler.h"
#include "counters/readings.h"

namespace stab::counters {

// The functions of an ELF file, by the offsets of their code. Any file is accepted; a damaged file,
// or one that is not ELF, has no functions.
class Symbols {
 public:
  Symbols() = default;
  // Reads the symbols of an open file.
  static Symbols of(int fd);

  // The function whose code contains this offset of the file; "" if no symbol with a size contains
  // it.
  [[nodiscard]] std::string_view at(std::uint64_t offset) const;

 private:
  struct Segment {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
    std::uint64_t address = 0;
  };
  struct Function {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::size_t name = 0;  // offset in names_
    bool is_global = false;
  };
  friend class SymbolReader;

  std::vector<Segment> segments_;
  std::vector<Function> functions_;  // sorted by start
  std::string names_;                // each ended by a zero
};

// The file of a mapping. Without a file, the path is "//anon" or in brackets.
struct MappedFile {
  std::string path{};
  std::uint64_t inode = 0;
  std::uint64_t mapped_at = 0;  // on the monotonic clock
};

// Ranges that do not overlap: a new range replaces what was there.
template <class T>
class Ranges {
 public:
  struct Range {
    std::uint64_t end = 0;
    std::uint64_t origin = 0;  // the start that it was put with, kept when the range is cut
    T what{};
  };

  void cut(std::uint64_t start, std::uint64_t end) {
    auto at = ranges_.lower_bound(start);
    if (at != ranges_.begin()) {
      auto& [before_start, before] = *std::prev(at);
      if (before.end > start) {
        const Range whole = before;
        before.end = start;
        if (whole.end > end) ranges_.emplace_hint(at, end, whole);
      }
    }
    while (at != ranges_.end() && at->first < end) {
      Range rest = at->second;
      at = ranges_.erase(at);
      if (rest.end > end) ranges_.emplace(end, std::move(rest));
    }
  }
  void put(std::uint64_t start, std::uint64_t end, T what) {
    if (start >= end) return;
    cut(start, end);
    ranges_[start] = {.end = end, .origin = start, .what = std::move(what)};
  }
  [[nodiscard]] const Range* find(std::uint64_t address) const {
    const auto above = ranges_.upper_bound(address);
    if (above == ranges_.begin()) return nullptr;
    const Range& range = std::prev(above)->second;
    return address < range.end ? &range : nullptr;
  }
  // The first range that ends above the address.
  [[nodiscard]] const Range* next(std::uint64_t address) const {
    if (const Range* here = find(address)) return here;
    const auto above = ranges_.upper_bound(address);
    return above == ranges_.end() ? nullptr : &above->second;
  }
  template <class F>
  void remove_if(F&& is_so) {
    std::erase_if(ranges_, [&](const auto& each) { return is_so(each.second.what); });
  }

 private:
  std::map<std::uint64_t, Range> ranges_;
};

// The result for an address: it is in a file at `file_offset`, in a layout, or in neither.
struct Spot {
  std::shared_ptr<const MappedFile> file{};
  std::uint64_t file_offset = 0;
  std::string_view function{};  // in a layout: the function's name, or "" between copies
  bool is_moved = false;        // whether the address is in a layout; `file` is its image
};

// The address space of a process at one moment: its files, and the layouts of szc's runtime. tell()
// must be called in the order of time.
class Space {
 public:
  void tell(const Mapped& mapped);
  void tell(const NewImage& image);
  void tell(const NewLayout& layout);
  void tell(const GoneImage& image);

  [[nodiscard]] Spot find(std::uint64_t address) const;

 private:
  struct Part {
    std::shared_ptr<const MappedFile> file;
    std::uint64_t offset = 0;
  };
  struct Moved {
    NewLayout layout;
    std::shared_ptr<const MovingImage> image;
    std::shared_ptr<const MappedFile> file;
  };

  Ranges<Part> files_;
  Ranges<Moved> layouts_;
  std::map<std::uint64_t, std::shared_ptr<const MovingImage>> images_;  // by base
};

// A file's symbols, and the state of the file when they were read.
struct KnownFile {
  std::uint64_t inode = 0;
  std::int64_t changed_ns = 0;
  std::shared_ptr<const Symbols> symbols{};
};
using KnownFiles = std::map<std::string, KnownFile>;

// Returns the functions with the most weight first. `known` is a cache, which is used and updated.
std::vector<ProfiledFunction> name_samples(Taken taken, const PlaceList& places, KnownFiles& known);

// Sorts the functions in that order. Functions that do not fit into a profile are merged into one.
std::vector<ProfiledFunction> bounded(std::vector<ProfiledFunction> all);

inline constexpr std::uint64_t place_file_bytes = std::uint64_t{64} << 20;

class Profiler {
 public:
  // An unknown event is accepted, but it can't be sampled.
  Profiler(const std::string& event, std::uint32_t hz);

  // Why this process could not be sampled; "" if it could.
  [[nodiscard]] std::string lacking() const;

  // Called in this order for each trial: make_place_file() for the program's environment, begin()
  // while the program waits before exec, drain() whenever fd() is readable because a ring is half
  // full, and end() after all processes have ended.
  std::string make_place_file();  // its path (base/shown_files.h), or ""
  void begin(pid_t process);
  [[nodiscard]] int fd() const { return sampler_ ? sampler_->fd() : -1; }
  void drain();
  Profile end();

  [[nodiscard]] const std::string& name() const { return event_.name; }

 private:
  Event event_;
  std::uint32_t hz_;
  Fd place_file_;
  std::optional<Sampler> sampler_;
  std::string reason_;  // why the trial has no profile
  KnownFiles known_;    // kept between trials
};

}  // namespace stab::counters
