// SPDX-License-Identifier: MIT
#include "results/stopping.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "report/words/answer.h"
#include "stats/verdicts/decide.h"
#include "stats/verdicts/foresight.h"

namespace stab::results {
namespace {

std::string percent(double share) {
  return fmt::format("{:.3g} %", 100 * share);
}

// The rule need not wait for the interval of an effect that is known to be the same for a stated
// reason.
bool is_open(const stats::Effect& effect) {
  return effect.reason.empty() || effect.verdict != stats::Verdict::same;
}

Look look_at_width(const stats::Analysis& analysis, const plan::Stop& stop, std::uint32_t blocks) {
  const stats::PrecisionRule rule{
      .half_width = stop.half_width, .min_blocks = stop.min(), .max_blocks = stop.max};
  // On several machines it waits for the answer, not for the change on each machine.
  std::vector<stats::Effect> asked;
  for (const stats::Effect* effect : stats::deciding_effects(analysis))
    if (is_open(*effect)) asked.push_back(*effect);
  std::size_t without = 0;
  double widest = 0;
  for (const stats::Effect& effect : asked) {
    if (effect.exact) continue;
    if (!effect.low || !effect.high)
      ++without;
    else
      widest = std::max(widest, (*effect.high - *effect.low) / 2);
  }
  Look result{.stop = stats::decide(rule, blocks, asked) == stats::Stop::precise};
  if (without > 0 || asked.empty())
    result.words = "not every comparison has an interval";
  else
    result.words = fmt::format("the widest interval is +-{}, but {} is requested", percent(widest),
                               percent(stop.half_width));
  return result;
}

Look look_at_verdicts(const stats::Analysis& analysis) {
  std::ptrdiff_t decided = 0;
  std::ptrdiff_t all = 0;
  for (const stats::Effect* effect : stats::deciding_effects(analysis)) {
    ++all;
    decided += effect->verdict != stats::Verdict::unsure ? 1 : 0;
  }
  return {.stop = all > 0 && decided == all,
          .words = all == 1 ? std::string(decided == 1 ? "the comparison is decided"
                                                       : "the comparison is not decided")
                            : fmt::format("{} of {} comparisons are decided", decided, all)};
}

// The blocks that are needed to find a change as large as the margin. At a look, intervals are much
// wider than they will be after so many blocks, so this assumes the level of the last look, which
// is nearly alpha.
std::optional<std::uint64_t> needed_for(const stats::Effect& effect,
                                        const stats::Analysis& analysis) {
  const stats::Spec& spec = analysis.spec;
  if (!spec.equivalence || spec.machines || effect.unit != spec.block) return std::nullopt;
  const auto family = std::max<std::size_t>(stats::deciding_effects(analysis).size(), 1);
  return stats::units_needed(effect, spec.alpha / static_cast<double>(family), *spec.equivalence);
}

std::vector<protocol::Change> changes_of(const stats::Analysis& analysis) {
  std::vector<protocol::Change> changes;
  for (const stats::Effect& effect : analysis.effects) {
    if (effect.scope != stats::deciding_scope(analysis)) continue;
    if (changes.size() == protocol::most_changes) break;
    // Without `low`, the adjusted bounds may belong to a difference instead of a ratio.
    const bool whole_family = effect.low_adjusted && effect.low;
    changes.push_back({.benchmark = effect.subject,
                       .baseline = effect.baseline,
                       .level = effect.level,
                       .ratio = effect.ratio,
                       .low = whole_family ? effect.low_adjusted : effect.low,
                       .high = whole_family ? effect.high_adjusted : effect.high,
                       .verdict = std::string(report::verdict_word(effect.verdict)),
                       .control = stats::is_control(effect, analysis.spec),
                       .needed = needed_for(effect, analysis)});
  }
  return changes;
}

}  // namespace

void control_error(stats::Spec& spec, const plan::Stop& stop, std::uint32_t blocks, bool is_over) {
  if (stop.rule == plan::StopRule::precision) {
    spec.alpha = stats::precision_alpha(spec.alpha);
    return;
  }
  std::vector<std::size_t> planned(stop.looks.begin(), stop.looks.end());
  planned.push_back(stop.max);
  // The last look spends what is left of alpha. Earlier looks were planned for more blocks and have
  // spent less than this plan allows them, so all looks together stay below alpha.
  if (is_over && blocks > 0) {
    std::erase_if(planned, [&](std::size_t look) { return look >= blocks; });
    planned.push_back(blocks);
  }
  spec.looks = stats::Looks{.planned = std::move(planned), .blocks = blocks};
}

Look look(const stats::Analysis& analysis, const plan::Stop& stop, std::uint32_t blocks) {
  Look look = stop.rule == plan::StopRule::precision ? look_at_width(analysis, stop, blocks)
                                                     : look_at_verdicts(analysis);
  look.changes = changes_of(analysis);
  return look;
}

report::Stopping stopping_of(const plan::Plan& plan, stats::Analysis& analysis,
                             std::uint32_t blocks) {
  const plan::Stop& stop = *plan.design.stop;
  const double alpha = plan.analysis.alpha;
  if (stop.rule == plan::StopRule::precision)
    analysis.notes.push_back(
        fmt::format("This experiment stops when its intervals are narrow, so it tends to stop when "
                    "the variance happens to look small. To make up for this, intervals and tests "
                    "are computed at a level of {:.4g} %; the actual level is then {:.4g} %.",
                    100 * (1 - analysis.spec.alpha), 100 * (1 - alpha)));
  return {.rule = std::string(to_string(stop.rule)),
          .words = fmt::format("{}; after {} {}", describe(stop), blocks,
                               look(analysis, stop, blocks).words),
          .fewest = stop.min(),
          .most = stop.max,
          .blocks = blocks,
          .alpha = alpha};
}

}  // namespace stab::results
