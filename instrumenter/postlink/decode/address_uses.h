// SPDX-License-Identifier: MIT
// Functions whose addresses code uses for more than calls, copies and comparisons for equality: it reads
// or writes what lies there, computes a distance, or asks whether another address lies before it. Then
// the program means the bytes or the range of the function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>

namespace stab::instrumenter {

// Facts about the code that the caller knows already.
struct AddressesTaken {
  // Maps the offset of a field to the address of the function that the field gives.
  std::map<std::uint32_t, std::uint64_t> fields{};
  // Whether what the field at this offset calls works on the bytes that its first two arguments lead to,
  // as memcpy does.
  std::function<bool(std::uint32_t field)> works_on_bytes{};
};

// Starts of functions.
struct AddressUses {
  std::set<std::uint64_t> bytes{};  // what lies there is read or written, or its page is computed
  std::set<std::uint64_t> range{};  // compared by order, or added to or subtracted
};

}  // namespace stab::instrumenter
