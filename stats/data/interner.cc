// SPDX-License-Identifier: MIT
#include "stats/data/interner.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

#include "stats/numbers/decimal.h"

namespace stab::stats {
namespace {

std::size_t slot_of(std::string_view text, std::size_t slots) {
  std::size_t hash = text.size();
  if (!text.empty())
    hash = 31 * (31 * hash + static_cast<unsigned char>(text.front())) +
           static_cast<unsigned char>(text.back());
  if (text.size() > 2) hash = 31 * hash + static_cast<unsigned char>(text[text.size() - 2]);
  return hash % slots;
}

}  // namespace

std::uint32_t Interner::code(std::string_view text) {
  Slot& slot = recent_[slot_of(text, slots)];
  if (slot.text != nullptr && *slot.text == text) return slot.code;
  auto known = codes_.find(text);
  if (known == codes_.end()) {
    texts_.emplace_back(text);
    known = codes_.emplace(texts_.back(), static_cast<std::uint32_t>(texts_.size() - 1)).first;
  }
  slot = {.text = &texts_[known->second], .code = known->second};
  return slot.code;
}

std::vector<std::string> Interner::sorted(std::vector<std::uint32_t>& renumber) const {
  struct Value {
    bool is_text = true;
    double number = 0;
    std::uint32_t code = 0;
  };
  std::vector<Value> order;
  for (std::uint32_t code = 0; code < texts_.size(); ++code) {
    const auto number = parse_number(texts_[code], '.');
    const bool is_number = number && std::isfinite(number->value);
    order.push_back({!is_number, is_number ? number->value : 0, code});
  }
  std::ranges::sort(order, [&](const Value& a, const Value& b) {
    return std::tie(a.is_text, a.number, texts_[a.code]) <
           std::tie(b.is_text, b.number, texts_[b.code]);
  });
  renumber.assign(texts_.size(), 0);
  std::vector<std::string> result;
  for (const Value& value : order) {
    renumber[value.code] = static_cast<std::uint32_t>(result.size());
    result.push_back(texts_[value.code]);
  }
  return result;
}

}  // namespace stab::stats
