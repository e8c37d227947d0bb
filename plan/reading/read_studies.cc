// SPDX-License-Identifier: MIT
// The keys of [design] that belong to calibrations and to fractional designs, and [causal].
#include <fmt/format.h>

#include <chrono>

#include "base/duration.h"
#include "design/fractional.h"
#include "plan/reading/draft.h"
#include "plan/rules.h"

namespace stab::plan {
namespace {

bool belongs(const Table& table, std::string_view key, DesignKind kind, Draft& draft) {
  const Pair* pair = table.find(key);
  if (pair == nullptr) return false;
  if (draft.plan.design.kind == kind) return true;
  draft.problems.add(pair->at,
                     fmt::format("'design.{0}' needs kind = \"{1}\": set it, or remove '{0}'", key,
                                 to_string(kind)));
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

using std::chrono::nanoseconds;

// The bounds of 'stabctl causal'.
void check_time(const Table& table, const char* key, nanoseconds value, nanoseconds least,
                nanoseconds most) {
  const Pair* pair = table.find(key);
  if (pair != nullptr && (value < least || value > most))
    table.refuse(
        *pair, fmt::format("a time from {} to {}", format_duration(least), format_duration(most)));
}

}  // namespace

void read_studies(const Table& design, Draft& draft) {
  if (belongs(design, "comparisons", DesignKind::calibration, draft))
    draft.study.comparisons = value<"design.comparisons">(design);
  const bool generators = belongs(design, "generators", DesignKind::fractional, draft);
  const bool resolution = belongs(design, "resolution", DesignKind::fractional, draft);
  if (generators && resolution)
    draft.problems.add(
        design.find("resolution")->at,
        "'design.resolution' and 'design.generators' both set the fraction: remove one");
  if (generators) read_generators(design, draft);
  if (resolution) {
    draft.study.at = design.find("resolution")->at;
    draft.study.resolution = given<"design.resolution">(design);
  }
  if (draft.plan.design.kind == DesignKind::fractional && !generators && !resolution)
    draft.problems.add(draft.design_at,
                       "a fractional design needs 'design.resolution', such as 4, or "
                       "'design.generators', such as [\"d = a:b:c\"]");
}

void read_causal(const Table& root, Draft& draft) {
  using namespace std::chrono_literals;
  const auto table = root.table("causal", names_below("causal"));
  Causal& causal = draft.plan.causal;
  causal.experiment = value<"causal.experiment">(table);
  causal.sample_period = value<"causal.sample_period">(table);
  causal.end_to_end = value<"causal.end_to_end">(table);
  if (!table) return;
  if (draft.kind_is_good && !draft.plan.is_causal())
    draft.problems.add(root.find("causal")->at,
                       "'causal' needs design.kind = \"causal\": set it, or remove the table");
  causal.scope = given<"causal.scope">(*table).value_or(Words());
  causal.binaries = given<"causal.binary">(*table).value_or(Words());
  causal.progress = given<"causal.progress">(*table).value_or(Words());
  causal.line = given<"causal.line">(*table).value_or("");
  causal.speedup = given<"causal.speedup">(*table);
  causal.arrival_speedup = given<"causal.arrival_speedup">(*table).value_or(0ns);
  check_time(*table, "experiment", causal.experiment, 10ms, 10min);
  check_time(*table, "sample_period", causal.sample_period, 100us, 1s);
  check_time(*table, "arrival_speedup", causal.arrival_speedup, 1ns, max_arrival_speedup);
  if (causal.speedup && (!causal.end_to_end || causal.line.empty()))
    draft.problems.add(
        table->find("speedup")->at,
        "'causal.speedup' needs 'causal.end_to_end' and 'causal.line': other experiments choose "
        "their speedups at random, because each run needs some at 0");
}

}  // namespace stab::plan
