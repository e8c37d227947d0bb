// SPDX-License-Identifier: MIT
#include "store/stranger.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "store/profiles/profile_text.h"
#include "store/rows/bounds.h"
#include "store/trial_columns.h"

namespace stab::store {
namespace {

bool is_line(const std::string& text) {
  return one_line(text, text.size()) == text;
}

std::string too_long(std::string_view column, std::size_t bytes) {
  for (const TextBound& each : text_bounds())
    if (each.table == "trial" && each.column == column && std::cmp_greater(bytes, each.most))
      return fmt::format("it has {} in the column {}, but at most {} are stored",
                         format_bytes(bytes), column,
                         format_bytes(static_cast<std::uint64_t>(each.most)));
  return "";
}

// An upper bound of a reading's size in the column: a control character takes six bytes there, and
// all numbers together at most of_numbers.
std::size_t bytes_of(const counters::Reading& reading) {
  constexpr std::size_t of_numbers = 64;
  return of_numbers + 2 * (reading.name.size() + reading.unit.size()) + 6 * reading.reason.size();
}

std::string refusal_of_samples(const Trial& trial) {
  std::set<std::pair<std::string_view, std::string_view>> known;
  std::size_t bytes = 0;
  for (const counters::Samples& each : trial.samples) {
    for (const std::string* text : {&each.measure, &each.subject, &each.unit})
      if (!is_line(*text))
        return fmt::format("it has a reading or samples whose name is not a single line: {}",
                           one_line(*text, 100));
    if (!known.emplace(each.measure, each.subject).second)
      return fmt::format("it has two lists of samples of {}",
                         one_line(each.measure + " " + each.subject, 200));
    bytes += counters::bytes_of(each);
  }
  return too_long("sample_list", bytes);
}

}  // namespace

std::string refusal_of(const std::vector<counters::Reading>& readings) {
  std::size_t bytes = 2;
  for (const counters::Reading& each : readings) {
    if (!is_line(each.name) || !is_line(each.unit))
      return fmt::format("it has a reading or samples whose name is not a single line: {}",
                         one_line(each.name + " " + each.unit, 100));
    bytes += bytes_of(each);
  }
  return too_long("reading_list", bytes);
}

std::string refusal_of(const Trial& trial) {
  std::string why = refusal_of(trial.readings);
  const auto bound = [&why](std::string_view column, std::size_t bytes) {
    if (why.empty()) why = too_long(column, bytes);
  };
  if (why.empty()) why = refusal_of_samples(trial);
  bound("reason", trial.reason.size());
  bound("stdout_sha256", trial.stdout_sha256.size());
  bound("stderr_tail", trial.stderr_tail.size());
  bound("causal", trial.causal.size());
  if (trial.profile.is_wanted()) bound("profile", profile_text(trial.profile).size());
  for_each_layout_column([&]<class T>(const LayoutColumn& column, T Layout::* member) {
    if constexpr (std::is_same_v<T, std::string>) bound(column.name, (trial.layout.*member).size());
  });
  return why;
}

}  // namespace stab::store
