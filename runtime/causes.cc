// SPDX-License-Identifier: MIT
#include "runtime/causes.h"

#include "runtime/memory.h"
#include "runtime/validate.h"

namespace stab::rt {

constinit Cause layouts_stay_for{};
constinit Cause pads_small_for{};

void Cause::set(const char* name) {
  if (text_[0] != '\0') return;
  const size_t length = length_of(name);
  copy_bytes(text_, name, length < longest ? length : longest - 1);
}

const char* first_hider(const abi::Header& table) {
  if (table.hiders.count == 0) return nullptr;
  const uint32_t name = elements<abi::Hider>(table, table.hiders)->name;
  return name < table.names.count ? elements<char>(table, table.names) + name : nullptr;
}

}  // namespace stab::rt
