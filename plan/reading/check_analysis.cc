// SPDX-License-Identifier: MIT
// The keys of [analysis] fit the kind of design.
#include <fmt/format.h>

#include <algorithm>
#include <variant>

#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

void refuse(Draft& draft, const std::string& key, std::string_view why) {
  draft.problems.add(draft.study.analysis.at(key), fmt::format("'analysis.{}' {}", key, why));
}

// Nothing of designs that have blocks for their error.
std::string_view why_no_blocks(const Draft& draft) {
  if (draft.plan.analysis.stabilizer) return "method = \"stabilizer\" has tests of its own";
  switch (draft.plan.design.kind) {
    case DesignKind::within_subjects:
      return "within subjects, each effect has its own error";
    case DesignKind::nested:
      return "a nested design compares the means of seeds";
    case DesignKind::padding_study:
      return "a padding study compares its arms seed by seed";
    case DesignKind::calibration:
      return "a calibration compares its arms block by block";
    default:
      return "";
  }
}

void check_split(Draft& draft) {
  const Analysis& analysis = draft.plan.analysis;
  bool split = draft.plan.is_split(analysis.response);
  for (const OtherResponse& each : analysis.others) split = split || draft.plan.is_split(each.name);
  if (split)
    refuse(draft, "response",
           fmt::format("is measured by Google Benchmark for many benchmarks in one trial, and a {} "
                       "design needs trials of their own: set design.kind = \"full-factorial\"",
                       to_string(draft.plan.design.kind)));
}

// A control beside the baseline and one other level at least, all of which have one family.
void check_control(Draft& draft) {
  const Analysis& analysis = draft.plan.analysis;
  if (analysis.control.empty()) return;
  if (draft.plan.design.kind != DesignKind::one_way || analysis.stabilizer)
    return refuse(draft, "control",
                  "is only for designs of the kind \"one-way\" without method = \"stabilizer\": "
                  "remove it, or change the design");
  if (analysis.all_pairs)
    return refuse(draft, "control",
                  "repeats the first level, so it cannot be combined with pairs = \"all\": remove "
                  "one of the two");
  for (const DraftFactor& factor : draft.factors) {
    if (!factor.value.is_treatment()) continue;
    const auto& levels = std::get<FixedLevels>(factor.value.levels).levels;
    const auto found = std::ranges::find(levels, analysis.control, &Level::name);
    if (found == levels.end() || found == levels.begin() || levels.size() < 3)
      refuse(draft, "control",
             fmt::format("must be a level of '{}' other than the first one, and a further level "
                         "must be compared",
                         factor.value.name));
  }
}

}  // namespace

void check_analysis(Draft& draft) {
  if (!draft.kind_is_good) return;
  const DesignKind kind = draft.plan.design.kind;
  if (draft.study.analysis.contains("programs") && kind != DesignKind::within_subjects)
    refuse(draft, "programs",
           fmt::format("says which programs an overall answer is about, but a {} design answers "
                       "for each benchmark: remove it, or set design.kind = \"within-subjects\"",
                       to_string(kind)));
  if (const auto why = why_no_blocks(draft); draft.plan.analysis.pooled && !why.empty())
    refuse(draft, "error", fmt::format("cannot be \"pooled\", because {}: remove it", why));
  if (draft.plan.analysis.estimand == "median" && kind != DesignKind::within_subjects)
    if (const auto why = why_no_blocks(draft); !why.empty())
      refuse(draft, "estimand", fmt::format("cannot be \"median\", because {}: remove it", why));
  if (!draft.plan.analysis.others.empty() && kind == DesignKind::calibration)
    refuse(draft, "response", "must be a single response in a calibration: leave out the others");
  if (draft.plan.answers_over_all()) check_split(draft);
  if (draft.factors_are_good) check_control(draft);
  if (!draft.plan.analysis.all_pairs) return;
  if (kind == DesignKind::calibration || kind == DesignKind::padding_study)
    refuse(draft, "pairs",
           fmt::format("cannot be \"all\" in a {}, whose two arms form only one pair: remove it",
                       kind == DesignKind::calibration ? "calibration" : "padding study"));
}

}  // namespace stab::plan
