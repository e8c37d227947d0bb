// SPDX-License-Identifier: MIT
#include "store/recovery/losses.h"

#include <optional>
#include <variant>

namespace stab::store {

void Losses::add(const std::string& table, const Stored& stored) {
  rows[table].insert(stored.id);
  if (table != "trial") return;
  const auto whole = [&](const char* column) -> std::optional<std::int64_t> {
    const auto value = stored.row.values().find(column);
    if (value == stored.row.values().end()) return std::nullopt;
    const auto* number = std::get_if<std::int64_t>(&value->second);
    return number == nullptr ? std::nullopt : std::optional(*number);
  };
  const auto experiment = whole("experiment");
  const auto position = whole("position");
  if (experiment && position) claims[stored.id] = {*experiment, *position, stored.intact};
}

}  // namespace stab::store
