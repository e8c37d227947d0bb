// SPDX-License-Identifier: MIT
// The address space of a process at one moment: its files, and the layouts of szc's runtime. tell()
// must be called in the order of time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "counters/profiles/place_list.h"
#include "counters/profiles/records.h"

namespace stab::counters {

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

class Space {
 public:
  void tell(const Mapped& mapped);
  void tell(std::uint64_t time, const NewImage& image);
  void tell(std::uint64_t time, const NewLayout& layout);
  void tell(std::uint64_t time, const GoneImage& image);

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

}  // namespace stab::counters
