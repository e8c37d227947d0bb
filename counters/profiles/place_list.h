// SPDX-License-Identifier: MIT
// What the runtime of szc's programs wrote of where their functions were (runtime/base/places.h),
// as values. The file is the program's to write, so any bytes are one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/places.h"

namespace stab::counters {

// The functions of an image; they point into the file.
struct MovingImage {
  std::span<const places::Function> functions{};
  std::string_view names{};

  // "" if the file has none.
  [[nodiscard]] std::string_view name(std::uint32_t function) const;
};

struct NewImage {
  std::uint64_t base = 0;
  std::shared_ptr<const MovingImage> image{};
};
struct NewLayout {
  std::uint64_t base = 0;
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint32_t lead = 0;
  std::span<const places::Place> places{};  // ascending
};
struct GoneImage {
  std::uint64_t base = 0;
};

struct PlaceEvent {
  std::uint64_t time = 0;
  std::uint32_t process = 0;
  std::variant<NewImage, NewLayout, GoneImage> what{};
};

struct PlaceList {
  std::vector<PlaceEvent> events{};  // as they stand in the file
  // From this moment on events may be lacking.
  std::uint64_t complete_until = std::numeric_limits<std::uint64_t>::max();
};

// The list points into the bytes, which begin at a multiple of 8 and change no more.
PlaceList read_places(std::span<const std::byte> file);

// The function of a layout that an address lies in; nullptr: none.
const places::Place* find_place(const NewLayout& layout, const MovingImage& image,
                                std::uint64_t address);

}  // namespace stab::counters
