// SPDX-License-Identifier: MIT
// What the sections of a text report call things.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/text.h"
#include "stats/analysis.h"

namespace stab::report {

inline std::string name(const std::string& text) {
  return one_line(text, 40);
}

inline std::string level_text(double alpha) {
  return fmt::format("{:.4g} %", 100 * (1 - alpha));
}

inline bool has_subjects(const stats::Analysis& analysis) {
  return std::ranges::any_of(analysis.means,
                             [](const auto& mean) { return !mean.subject.empty(); });
}

inline std::string suite_name(const stats::Analysis& analysis, stats::Scope scope) {
  return scope == stats::Scope::these
             ? fmt::format("these {} {}s", analysis.suite, name(analysis.spec.subject))
             : fmt::format("{}s like these", name(analysis.spec.subject));
}

// A subject's name, or the suite's.
inline std::string label_of(const stats::Analysis& analysis, const std::string& subject,
                            stats::Scope scope) {
  return scope == stats::Scope::subject ? name(subject) : suite_name(analysis, scope);
}

}  // namespace stab::report
