// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/answer.h"
#include "report/words/quantity.h"

namespace stab::report {
namespace {

using stats::Analysis;

std::string capital(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z') text.front() -= 'a' - 'A';
  return text;
}

// A response that is named after its column keeps the column's spelling.
std::string response_title(const stats::Spec& spec) {
  const std::string words = one_line(response_words(spec), 60);
  return words == spec.response ? words : capital(words);
}

std::string sd_text(const stats::CellMean& mean) {
  if (!mean.sd || !(mean.mean > 0)) return "";
  const double percent = 100 * *mean.sd / mean.mean;
  return percent < 10 ? fmt::format("{:.2f} %", percent) : fmt::format("{:.3g} %", percent);
}

Row mean_row(const Analysis& analysis, const stats::CellMean& mean, const Scale& scale) {
  const std::vector<std::string>& treatments = analysis.spec.treatments;
  Row levels;
  Row row{subject_column(analysis, mean.subject, stats::Scope::subject).once()};
  for (std::size_t i = 0; i < treatments.size(); ++i) {
    const bool is_known = i < mean.levels.size();
    if (is_known) levels.push_back(json_only(treatments[i], mean.levels[i]));
    row.push_back(
        shown_only(name(treatments[i]), is_known ? mean.levels[i] : "").named(longest_name));
  }
  const std::string interval =
      mean.low ? fmt::format("{} to {}", number(*mean.low, scale), quantity(*mean.high, scale))
               : "-";
  for (Field& field :
       Row{json_only("levels", std::move(levels)),
           column("n", mean.n, "trials", fmt::format("{}", mean.n)),
           column("mean", mean.mean, "mean", quantity(mean.mean, scale)).in(Style::bold),
           shown_only(level_text(analysis.spec.alpha) + " interval", interval),
           json_only("low", known(mean.low)), json_only("high", known(mean.high)),
           column("sd", known(mean.sd), "sd", sd_text(mean))})
    row.push_back(std::move(field));
  return row;
}

}  // namespace

Section means_section(const Analysis& analysis) {
  if (analysis.means.empty()) return {};
  const stats::Spec& spec = analysis.spec;
  Part part;
  for (auto begin = analysis.means.begin(); begin != analysis.means.end();) {
    const auto end = std::find_if(begin, analysis.means.end(),
                                  [&](const auto& mean) { return mean.subject != begin->subject; });
    const Scale scale = scale_for({begin, end}, spec.unit);
    if (begin != analysis.means.begin() && end - begin > 2) part.rows.emplace_back();
    for (auto mean = begin; mean != end; ++mean)
      part.rows.push_back(mean_row(analysis, *mean, scale));
    begin = end;
  }
  return {.title = response_title(spec),
          .words = fmt::format(
              "{} means; {}. sd: standard deviation of the trials, as a percentage of the mean.",
              spec.log_scale ? "Geometric" : "Arithmetic", better_words(spec)),
          .parts = {std::move(part)}};
}

}  // namespace stab::report
