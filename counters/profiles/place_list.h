// SPDX-License-Identifier: MIT
// Parses the file in which szc's runtime records where a program's functions are
// (runtime/base/places.h). The program can write anything into that file, so every content is valid
// input.
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

// The functions of an image. The spans point into the file.
struct MovingImage {
  std::span<const places::Function> functions{};
  std::string_view names{};

  // "" if the file has no name for it.
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
  std::vector<PlaceEvent> events{};  // in the order of the file
  // From this moment on, events may be missing.
  std::uint64_t complete_until = std::numeric_limits<std::uint64_t>::max();
};

// The list points into the bytes, which must be aligned to 8 and must not change any more.
PlaceList read_places(std::span<const std::byte> file);

// Finds the function of a layout whose code contains the address; nullptr if there is no such
// function.
const places::Place* find_place(const NewLayout& layout, const MovingImage& image,
                                std::uint64_t address);

}  // namespace stab::counters
