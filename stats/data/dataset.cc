// SPDX-License-Identifier: MIT
#include "stats/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "stats/numbers/decimal.h"

namespace stab::stats {

const Column* Dataset::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  return found == columns.end() ? nullptr : &*found;
}

bool Dataset::is_valid() const {
  if (response.size() > most_rows) return false;
  for (const Lost& trial : lost) {
    if (trial.codes.size() != columns.size()) return false;
    for (std::size_t i = 0; i < columns.size(); ++i)
      if (trial.codes[i] >= columns[i].levels.size()) return false;
  }
  return std::ranges::all_of(columns, [this](const Column& column) {
    return column.codes.size() == response.size() &&
           std::ranges::all_of(column.codes,
                               [&](std::uint32_t code) { return code < column.levels.size(); });
  });
}

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
  if (2 * texts_.size() >= places_.size()) grow();
  std::uint32_t& place = places_[place_of(text)];
  if (place == 0) {
    texts_.emplace_back(text);
    place = static_cast<std::uint32_t>(texts_.size());
  }
  slot = {.text = &texts_[place - 1], .code = place - 1};
  return slot.code;
}

std::size_t Interner::place_of(std::string_view text) const {
  std::size_t at = std::hash<std::string_view>()(text);
  for (;; ++at) {
    at &= places_.size() - 1;
    if (places_[at] == 0 || texts_[places_[at] - 1] == text) return at;
  }
}

void Interner::grow() {
  constexpr std::size_t least = 256;
  places_.assign(std::max(least, 4 * places_.size()), 0);
  for (std::uint32_t code = 0; code < texts_.size(); ++code)
    places_[place_of(texts_[code])] = code + 1;
}

std::vector<std::string> Interner::sorted(std::vector<std::uint32_t>& renumber,
                                          char decimal_point) const {
  struct Value {
    bool is_text = true;
    double number = 0;
    std::uint32_t code = 0;
  };
  std::vector<Value> order;
  for (std::uint32_t code = 0; code < texts_.size(); ++code) {
    auto number = parse_number(texts_[code], decimal_point);
    if (!number && decimal_point != '.') number = parse_number(texts_[code], '.');
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
