// SPDX-License-Identifier: MIT
// What the description of a message says beside its members (BOOST_DESCRIBE_STRUCT): the name that
// marks it and the bounds of its fields. The JSON of both directions, its checks and the tables of
// doc/protocol.md follow from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace stab::protocol {

// "verb": "submit". An empty value stands for true.
struct Tag {
  std::string_view key;
  std::string_view value;
};

// Of replies that are no refusals.
inline constexpr Tag ok{.key = "ok", .value = ""};

template <class M>
inline constexpr Tag tag = M::tag;

struct Field {
  std::string_view name{};                                        // "": as the member is called
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  // of a number
  std::uint64_t most = 0;  // of a number, or the size of a text or list; 0: what its kind allows
  bool may_lack = false;   // the member keeps its initial value then
};

template <auto Member>
inline constexpr Field field{};

// Of one text. A document takes up to 100 bytes a value, so that those of a hostile line fit in
// some megabytes.
inline constexpr std::size_t max_values = std::size_t{1} << 18;
inline constexpr std::uint64_t most_text = std::uint64_t{1} << 20;
inline constexpr std::uint64_t most_items = std::uint64_t{1} << 16;

}  // namespace stab::protocol
