// SPDX-License-Identifier: MIT
// Finds functions whose addresses the code uses for more than calls, copies and comparisons for
// equality: it reads or writes the bytes there, computes a distance, or asks whether another
// address lies before it. Then the program means the bytes or the range of the function.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>

namespace stab::instrumenter {

// Facts about the code that the caller knows already.
struct AddressesTaken {
  // Maps the offset of a field to the address of the function that the field gives, either itself
  // or by leading to the linker's table of addresses (the GOT).
  std::map<std::uint32_t, std::uint64_t> fields{};
  // Whether the call or jump with this field goes to a function that works on the bytes its first
  // two arguments point to, as memcpy does.
  std::function<bool(std::uint32_t field)> works_on_bytes{};
};

// The starts of such functions.
struct AddressUses {
  std::set<std::uint64_t> bytes{};  // code reads or writes the bytes there, or computes their page
  std::set<std::uint64_t> range{};  // code compares it by order, adds to it or subtracts from it
};

// Follows the addresses of functions in registers, along all paths through this code. It does not
// follow addresses that the program itself keeps in memory.
AddressUses find_address_uses(std::span<const std::uint8_t> code, std::uint64_t address,
                              const AddressesTaken& taken);

}  // namespace stab::instrumenter
