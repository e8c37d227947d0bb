// SPDX-License-Identifier: MIT
// The keys of [design] that belong to calibrations and to fractional designs.
#include <fmt/format.h>

#include "design/fractional.h"
#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {
namespace {

bool belongs(const Table& table, std::string_view key, DesignKind kind, Draft& draft) {
  const Pair* pair = table.find(key);
  if (pair == nullptr) return false;
  if (draft.plan.design.kind == kind) return true;
  draft.problems.add(pair->at, fmt::format("'design.{0}' belongs to kind = \"{1}\": set it, or "
                                           "remove '{0}'",
                                           key, to_string(kind)));
  return false;
}

void read_generators(const Table& table, Draft& draft) {
  const auto texts = table.texts("generators", is_filled_word, R"(texts, as in ["d = a:b:c"])");
  if (!texts) return;
  const Pair& pair = *table.find("generators");
  draft.study.at = pair.at;
  constexpr Several allowed = kind_of<"design.generators">;
  if (texts->size() < allowed.least || texts->size() > allowed.most)
    draft.problems.add(pair.at, fmt::format("'design.generators' must list {} to {} generators, "
                                            "not {}",
                                            allowed.least, allowed.most, texts->size()));
  for (const std::string& text : *texts)
    draft.study.generators.push_back({pair.at, "design.generators", text});
}

}  // namespace

void read_studies(const Table& design, Draft& draft) {
  if (belongs(design, "comparisons", DesignKind::calibration, draft))
    draft.study.comparisons = value<"design.comparisons">(design);
  const bool generators = belongs(design, "generators", DesignKind::fractional, draft);
  const bool resolution = belongs(design, "resolution", DesignKind::fractional, draft);
  if (generators && resolution)
    draft.problems.add(design.find("resolution")->at,
                       "'design.resolution' and 'design.generators' say the same thing twice: "
                       "remove one");
  if (generators) read_generators(design, draft);
  if (resolution) {
    draft.study.at = design.find("resolution")->at;
    draft.study.resolution = given<"design.resolution">(design);
  }
  if (draft.plan.design.kind == DesignKind::fractional && !generators && !resolution)
    draft.problems.add(draft.design_at,
                       "a fractional design needs 'design.resolution', as 4, or "
                       "'design.generators', as [\"d = a:b:c\"]");
}

}  // namespace stab::plan
