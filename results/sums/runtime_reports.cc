// SPDX-License-Identifier: MIT
#include "results/sums/runtime_reports.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "stats/numbers/order.h"

namespace stab::results {
namespace {

std::optional<double> median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(stats::median(values));
}

}  // namespace

void LayoutCounter::add(const store::Layout& layout) {
  if (!layout.randomized) {
    ++counts_.without_runtime;
    if (layout.note.empty()) return;
    constexpr std::size_t most_reasons = 2;
    ++counts_.in_place;
    if (in_place_.size() < most_reasons) in_place_.insert(layout.note);
    return;
  }
  if (!*layout.randomized) {
    ++counts_.unrandomized;
    return;
  }
  ++counts_.randomized;
  counts_.random_code += layout.random_code.value_or(false) ? 1 : 0;
  counts_.random_stack += layout.random_stack.value_or(false) ? 1 : 0;
  counts_.random_heap += layout.random_heap.value_or(false) ? 1 : 0;
  kinds_.insert(layout.kind);
  if (layout.moved_bytes && layout.text_bytes.value_or(0) > 0)
    shares_.push_back(static_cast<double>(*layout.moved_bytes) /
                      static_cast<double>(*layout.text_bytes));
  if (layout.heap_fixed_bytes && layout.heap_bytes.value_or(0) > 0) {
    fixed_.push_back(static_cast<double>(*layout.heap_fixed_bytes) /
                     static_cast<double>(*layout.heap_bytes));
    if (fixed_.back() > 0.5) ++counts_.fixed_heaps;
  }
  if (!layout.epochs) return;
  epochs_.push_back(static_cast<double>(*layout.epochs));
  if (layout.repeated.value_or(false) && *layout.epochs < report::enough_epochs)
    ++counts_.few_epochs;
}

report::Layouts LayoutCounter::result() const {
  report::Layouts layouts = counts_;
  layouts.kinds = fmt::format("{}", fmt::join(kinds_, ", "));
  layouts.why_in_place = fmt::format("{}", fmt::join(in_place_, "; "));
  layouts.median_share = median(shares_);
  if (!shares_.empty()) layouts.least_share = std::ranges::min(shares_);
  layouts.median_epochs = median(epochs_);
  layouts.median_fixed = median(fixed_);
  return layouts;
}

}  // namespace stab::results
