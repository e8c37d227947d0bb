// SPDX-License-Identifier: MIT
// A message is described by its members (BOOST_DESCRIBE_STRUCT), the tag that marks it, and the
// bounds of its fields. The JSON of both directions, its checks and the tables of doc/protocol.md
// are derived from these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

namespace stab::protocol {

// The key and value that mark a message, such as "verb": "submit". An empty value stands for true.
struct Tag {
  std::string_view key;
  std::string_view value;
};

// The tag of replies that do not refuse the request.
inline constexpr Tag ok{.key = "ok", .value = ""};

template <class M>
inline constexpr Tag tag = M::tag;

struct Field {
  std::string_view name{};                                        // "": the member's name
  std::int64_t least = std::numeric_limits<std::int64_t>::min();  // a number's lower bound
  // `most` bounds a number, or the size of a text or list; 0: the default bound of the type.
  std::uint64_t most = 0;
  bool may_lack = false;  // if the field is missing, the member keeps its initial value
};

template <auto Member>
inline constexpr Field field{};

// The most values in one JSON text. A value takes up to 100 bytes in memory, so even a hostile line
// takes only some megabytes.
inline constexpr std::size_t max_values = std::size_t{1} << 18;
inline constexpr std::uint64_t most_text = std::uint64_t{1} << 20;
inline constexpr std::uint64_t most_items = std::uint64_t{1} << 16;

}  // namespace stab::protocol
