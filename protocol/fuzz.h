// SPDX-License-Identifier: MIT
// The property that the fuzzers check: any bytes, in any direction, decode to a message or to an
// error with a text, and a message that is encoded again decodes to the same message.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "protocol/work.h"

namespace stab::protocol {

inline void require(bool holds) {
  if (!holds) std::abort();
}

template <class M>
void check(const Result<M>& read) {
  if (!read) return require(!read.error().message.empty());
  const std::string line = encode(*read);
  require(!line.contains('\n'));
  const auto again = decode<M>(line);
  require(again && encode(*again) == line);
}

template <class... M>
void check(const Result<std::variant<M...>>& read) {
  if (!read) return require(!read.error().message.empty());
  std::visit([]<class Each>(const Each& each) { check(Result<Each>(each)); }, *read);
}

inline std::string_view as_text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace stab::protocol
