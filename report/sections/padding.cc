// SPDX-License-Identifier: MIT
// The change under each seed of a padding study.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "stats/numbers/summary.h"

namespace stab::report {
namespace {

std::string change(double percent) {
  return fmt::format("{:+.2f} %", percent);
}

}  // namespace

std::vector<Row> seed_rows(const stats::PaddingSeeds& study) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < std::min(study.seeds.size(), study.percent.size()); ++i)
    rows.push_back({column("seed", study.seeds[i], "seed", study.seeds[i]).left(),
                    column("percent", study.percent[i], "change", change(study.percent[i]))});
  return rows;
}

Section padding_section(const stats::Analysis& analysis) {
  if (analysis.padding.empty()) return {};
  Part part;
  for (const stats::PaddingSeeds& study : analysis.padding) {
    const stats::Moments percent = stats::moments(study.percent);
    part.rows.push_back({
        subject_column(analysis, study.subject, stats::Scope::subject),
        json_only("treatment", study.treatment),
        json_only("baseline", study.baseline),
        json_only("level", study.level),
        json_only("factor", analysis.spec.seed),
        json_only("seeds", seed_rows(study)),
        shown_only("from -> to", name(study.baseline) + " -> " + name(study.level)).left(),
        shown_only("seeds", fmt::format("{}", study.percent.size())),
        shown_only("mean change", change(percent.mean)).in(Style::bold),
        shown_only("sd of the seeds",
                   fmt::format("{:.2f} %", std::sqrt(percent.variance().value_or(0)))),
        shown_only("smallest", change(std::ranges::min(study.percent))),
        shown_only("largest", change(std::ranges::max(study.percent))),
    });
  }
  return {
      .title = "Padding study",
      .words = fmt::format(
          "The table shows how much the mean changes under each seed of {}, in percent; both "
          "levels use the same seeds. Each seed counts as one value, no matter how many runs it "
          "has. With a single seed, you could have measured the smallest or the largest of these "
          "changes.",
          name(analysis.spec.seed)),
      .parts = {std::move(part)}};
}

}  // namespace stab::report
