// SPDX-License-Identifier: MIT
#include "instrumenter/postlink/decode/stack_values.h"

#include <algorithm>

namespace stab::instrumenter {

namespace {

StackValue join_near(const StackValue& a, const StackValue& b) {
  const std::int64_t lowest = std::min(a.distance, b.distance);
  const std::int64_t highest = std::max(a.highest, b.highest);
  // Only a few values are exact, so repeated joins in a loop come to an end.
  if (a.exact || b.exact) return StackValue::between(a.base, lowest, highest);
  const bool is_inside = lowest == a.distance && highest == a.highest;
  return is_inside ? a : StackValue::somewhere(a.base);
}

// An aligned base may be where the stack pointer was before.
bool is_lowered(std::uint32_t base) {
  return base == StackValue::lowered_base || (base != 0 && (base & StackValue::aligned) == 0);
}

std::uint32_t one_of(std::uint32_t base) {
  return is_lowered(base) ? StackValue::lowered_base : StackValue::no_base;
}

std::uint32_t join_bases(std::uint32_t a, std::uint32_t b) {
  if (a == b) return a;
  return is_lowered(a) && is_lowered(b) ? StackValue::lowered_base : StackValue::no_base;
}

void forget_base_of(StackValue& value, std::uint32_t base) {
  if (!value.is_involved() || value.base != base) return;
  value = value.is_own() ? StackValue::somewhere(one_of(base)) : StackValue::made_of(one_of(base));
}

}  // namespace

bool StackValue::may_have_base(std::uint32_t other) const {
  return base == other || base == no_base || (base == lowered_base && other != 0);
}

StackValue join(const StackValue& a, const StackValue& b) {
  if (a == b) return a;
  if (!a.is_own() || !b.is_own()) return mix(a, b);
  return a.base == b.base ? join_near(a, b) : StackValue::somewhere(join_bases(a.base, b.base));
}

StackValue mix(const StackValue& a, const StackValue& b) {
  if (!a.is_involved()) return b.is_involved() ? StackValue::made_of(b.base) : StackValue{};
  return StackValue::made_of(b.is_involved() ? join_bases(a.base, b.base) : a.base);
}

void StackWords::join(const StackWords& other) {
  const auto at_same_place = [](std::vector<Word>& words, const Word& word) {
    return std::ranges::find_if(
        words, [&](const Word& w) { return w.base == word.base && w.distance == word.distance; });
  };
  std::vector<Word> others = other.words_;
  for (Word& word : words_) {
    const auto same = at_same_place(others, word);
    if (same == others.end()) {
      spoil(word);
      continue;
    }
    word.value = instrumenter::join(word.value, same->value);
    word.pushed = word.pushed && same->pushed;
    others.erase(same);
  }
  for (Word& word : others) {
    spoil(word);
    words_.push_back(word);
  }
  sort();
  for (const Given& more : other.given_) add_given(more);
}

void StackWords::spoil(Word& word) {
  word.value = StackValue::made_of(word.value.base);
  word.pushed = false;
}

void StackWords::sort() {
  std::ranges::sort(words_, [](const Word& a, const Word& b) {
    return a.base != b.base ? a.base < b.base : a.distance < b.distance;
  });
}

StackValue StackWords::read(const StackValue& place) const {
  if (!place.is_place()) return {};
  const auto found = std::ranges::find_if(words_, [&](const Word& word) {
    return word.base == place.base && word.distance == place.distance;
  });
  return found == words_.end() ? StackValue{} : found->value;
}

void StackWords::write(const StackValue& place, const StackValue& value, bool pushed) {
  if (!place.is_place()) return overwrite_near(place);
  overwrite(place, 8);
  if (value.is_involved()) words_.push_back({place.base, place.distance, value, pushed});
  sort();
}

void StackWords::overwrite(const StackValue& place, std::uint32_t bytes) {
  if (!place.is_own() || !place.has_base()) return overwrite_near(place);
  std::erase_if(words_, [&](Word& word) {
    if (word.base != place.base) return false;
    const bool there = word.distance < place.highest + bytes && word.distance + 8 > place.distance;
    if (there || !(place.exact || word.pushed)) spoil(word);
    return place.exact && word.distance >= place.distance &&
           word.distance + 8 <= place.distance + bytes;
  });
}

void StackWords::overwrite_near(const StackValue& place) {
  if (!place.is_involved()) return;
  for (Word& word : words_)
    if (place.may_have_base(word.base)) spoil(word);
}

void StackWords::add_given(const Given& more) {
  auto at = std::ranges::lower_bound(given_, more.base, {}, &Given::base);
  if (at == given_.end() || at->base != more.base) at = given_.insert(at, {.base = more.base});
  at->lowest = std::min(at->lowest, more.lowest);
  at->first = std::min(at->first, more.first);
  at->last = std::max(at->last, more.last);
  std::vector<std::int64_t> places;
  std::ranges::set_union(at->places, more.places, std::back_inserter(places));
  at->places = std::move(places);
}

void StackWords::give_away(const StackValue& place) {
  if (!place.is_involved()) return;
  if (place.exact) return add_given({place.base, place.distance, {place.distance}});
  const bool near = place.is_own() && place.highest != StackValue::anywhere;
  Given some{.base = place.base, .lowest = -StackValue::anywhere};
  if (near) some.first = place.distance, some.last = place.highest;
  add_given(some);
}

void StackWords::overwrite_given_away() {
  const auto reaches = [](const Given& given, const Word& word) {
    if (!StackValue::made_of(given.base).may_have_base(word.base)) return false;
    if (!word.pushed) return given.lowest <= word.distance;
    return std::ranges::binary_search(given.places, word.distance) ||
           (given.first <= word.distance && word.distance <= given.last);
  };
  for (Word& word : words_)
    if (std::ranges::any_of(given_, [&](const Given& given) { return reaches(given, word); }))
      spoil(word);
}

void StackWords::forget_below(const StackValue& stack_pointer) {
  if (!stack_pointer.is_own()) return words_.clear();
  std::erase_if(words_, [&](const Word& word) {
    if (word.base != stack_pointer.base) return stack_pointer.base == 0;
    return stack_pointer.exact && word.distance < stack_pointer.distance;
  });
}

void StackWords::forget_base(std::uint32_t base) {
  std::erase_if(words_, [&](Word& word) {
    if (word.base == base) return true;
    forget_base_of(word.value, base);
    return false;
  });
  std::erase_if(given_, [&](const Given& given) { return given.base == base; });
}

void StackState::join(const StackState& other) {
  for (std::size_t i = 0; i < register_count; ++i)
    registers[i] = instrumenter::join(registers[i], other.registers[i]);
  words.join(other.words);
}

void StackState::forget_base(std::uint32_t base) {
  for (StackValue& value : registers) forget_base_of(value, base);
  words.forget_base(base);
}

StackState state_on_entry() {
  StackState state;
  state.rsp() = StackValue::at(0, 0);
  return state;
}

}  // namespace stab::instrumenter
