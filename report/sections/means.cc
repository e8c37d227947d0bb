// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/answer.h"
#include "report/words/grid.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::Analysis;

std::string capital(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() -= 'a' - 'A';
  return text;
}

// A column's own name stays as it is.
std::string response_title(const stats::Spec& spec) {
  const std::string words = one_line(response_words(spec), 60);
  return words == spec.response ? words : capital(words);
}

std::string sd_text(const stats::CellMean& mean) {
  if (!mean.sd || !(mean.mean > 0)) return "";
  const double percent = 100 * *mean.sd / mean.mean;
  return percent < 10 ? fmt::format("{:.2f} %", percent) : fmt::format("{:.3g} %", percent);
}

void add_mean(Grid& grid, const stats::CellMean& mean, const Scale& scale, bool first,
              bool subjects) {
  std::vector<Cell> row;
  if (subjects) row.push_back({first ? name(mean.subject) : "", Style::bold});
  for (const std::string& level : mean.levels) row.push_back({name(level)});
  row.push_back({fmt::format("{}", mean.n)});
  row.push_back({quantity(mean.mean, scale), Style::bold});
  row.push_back(
      {mean.low ? fmt::format("{} to {}", number(*mean.low, scale), quantity(*mean.high, scale))
                : "-"});
  row.push_back({sd_text(mean)});
  grid.row(std::move(row));
}

}  // namespace

std::string means_section(const Analysis& analysis, const TextOptions& options) {
  if (analysis.means.empty()) return "";
  const stats::Spec& spec = analysis.spec;
  const bool subjects = has_subjects(analysis);
  Grid grid;
  if (subjects) grid.column(name(spec.subject), Align::left);
  for (const std::string& treatment : spec.treatments) grid.column(name(treatment), Align::left);
  grid.column("trials", Align::right);
  grid.column("mean", Align::right);
  grid.column(level_text(spec.alpha) + " interval", Align::right);
  grid.column("sd", Align::right);
  for (auto begin = analysis.means.begin(); begin != analysis.means.end();) {
    const auto end = std::find_if(begin, analysis.means.end(),
                                  [&](const auto& mean) { return mean.subject != begin->subject; });
    const Scale scale = scale_for({begin, end}, spec.unit);
    if (begin != analysis.means.begin() && end - begin > 2) grid.gap();
    for (auto mean = begin; mean != end; ++mean)
      add_mean(grid, *mean, scale, mean == begin, subjects);
    begin = end;
  }
  return table_section(
      response_title(spec),
      fmt::format(
          "{} means; {}. sd: standard deviation of the trials, as a percentage of the mean.",
          spec.log_scale ? "Geometric" : "Arithmetic", better_words(spec)),
      grid, options);
}

}  // namespace stab::report
