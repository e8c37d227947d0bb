// SPDX-License-Identifier: MIT
// What a short report says instead of the table of assumptions.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "report/sections/sections.h"
#include "report/sections/words.h"

namespace stab::report {
namespace {

using stats::Analysis;
using stats::Assumption;
using stats::Property;

constexpr std::size_t most_names = 4;

// "normality (sort, fft)".
std::string rejected_words(const Analysis& analysis, Property property, const char* words) {
  std::vector<std::string> names;
  bool any = false;
  for (const Assumption& a : analysis.assumptions) {
    if (a.holds || a.property != property) continue;
    any = true;
    std::string label = label_of(analysis, a.subject, model_scope(analysis, a.subject));
    if (!label.empty() && std::ranges::find(names, label) == names.end())
      names.push_back(std::move(label));
  }
  if (!any) return "";
  const std::size_t shown = std::min(most_names, names.size());
  std::string text = fmt::format(
      "{}", fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(shown), ", "));
  if (names.size() > shown) text += fmt::format(" and {} more", names.size() - shown);
  return text.empty() ? words : fmt::format("{} ({})", words, text);
}

}  // namespace

std::string rejected_assumptions(const Analysis& analysis) {
  constexpr std::array<std::pair<Property, const char*>, 3> kinds{
      {{Property::normality, "normality"},
       {Property::equal_variances, "equal variances"},
       {Property::independence, "independence of the trials"}}};
  std::string rejected;
  for (const auto& [property, words] : kinds)
    if (const std::string text = rejected_words(analysis, property, words); !text.empty())
      rejected += (rejected.empty() ? "" : ", ") + text;
  if (rejected.empty()) return "";
  const auto failed =
      std::ranges::count_if(analysis.assumptions, [](const auto& a) { return !a.holds; });
  return fmt::format("{} of {} tests reject an assumption of the model: {}.", failed,
                     analysis.assumptions.size(), rejected);
}

}  // namespace stab::report
