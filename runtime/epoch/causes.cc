// SPDX-License-Identifier: MIT
#include "runtime/epoch/causes.h"

#include "runtime/abi/validate.h"
#include "runtime/base/memory.h"

namespace stab::rt {

constinit Cause layouts_stay_for{};
constinit Cause pads_small_for{};

void Cause::set(const char* name) {
  if (text_[0] != '\0') return;
  const size_t length = length_of(name);
  copy_bytes(text_, name, length < longest ? length : longest - 1);
}

namespace {

const char* name_of(const abi::Header& table, const abi::Hider& hider) {
  return hider.name < table.names.count ? elements<char>(table, table.names) + hider.name : nullptr;
}

}  // namespace

const char* first_hider(const abi::Header& table) {
  if (table.hiders.count == 0) return nullptr;
  return name_of(table, *elements<abi::Hider>(table, table.hiders));
}

const char* first_with_stacks(const abi::Header& table) {
  const auto* hiders = elements<abi::Hider>(table, table.hiders);
  for (uint32_t i = 0; i < table.hiders.count; ++i) {
    const auto reason = static_cast<abi::HideReason>(hiders[i].reason);
    if (reason == abi::HideReason::switches_stacks || reason == abi::HideReason::makes_stacks)
      return name_of(table, hiders[i]);
  }
  return nullptr;
}

}  // namespace stab::rt
