// SPDX-License-Identifier: MIT
// Bars from zero: the cells relative to the reference, each padding's change, and noise floors.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"

namespace stab::report::html {
namespace {

using stats::Analysis;
using stats::CellMean;

constexpr double row_height = 17;  // below its label
constexpr double top = 6;

struct Bar {
  std::string name{};
  std::string colour = no_verdict;
  double percent = 0;
  std::optional<stats::Interval> interval{};
};

std::string words_at_end(const Bar& bar) {
  return fmt::format("{:+.2f} %", bar.percent);
}

Markup draw(const std::vector<Bar>& bars, const std::string& label, const std::string& title) {
  const std::size_t shown = std::min(bars.size(), most_lines);
  Range range;
  range.include(0);
  for (std::size_t i = 0; i < shown; ++i) {
    range.include(bars[i].percent);
    if (bars[i].interval) range.include(bars[i].interval->low);
    if (bars[i].interval) range.include(bars[i].interval->high);
  }
  const Axis axis(range.padded(), 14, width - 14);
  double bottom = top;
  for (std::size_t i = 0; i < shown; ++i)
    bottom += row_height + label_height(bars[i].name, words_at_end(bars[i]));
  Canvas canvas(bottom + 38, label);
  canvas.horizontal(axis, top, bottom, title);
  double y = top;
  for (std::size_t i = 0; i < shown; ++i) {
    const Bar& bar = bars[i];
    const double below = y + label_height(bar.name, words_at_end(bar));
    const double zero = axis.place(0);
    const double end = axis.place(bar.percent);
    canvas.label(y, bar.name, words_at_end(bar));
    canvas.rectangle(std::min(zero, end), below + 3, std::max(zero, end) - std::min(zero, end), 10,
                     bar.colour, fmt::format("{}: {}", bar.name, words_at_end(bar)));
    if (bar.interval)
      canvas.line(axis.place(bar.interval->low), below + 8, axis.place(bar.interval->high),
                  below + 8, "mean");
    y = below + row_height;
  }
  return canvas.finish();
}

std::string levels_text(const Analysis& analysis, const CellMean& mean) {
  std::string text;
  for (std::size_t i = 0; i < mean.levels.size() && i < analysis.spec.treatments.size(); ++i)
    text += fmt::format("{}{}={}", i == 0 ? "" : " ", analysis.spec.treatments[i], mean.levels[i]);
  return text;
}

// The effect that compares the cell with the reference; null unless there is exactly one treatment.
const stats::Effect* effect_or_null(const Analysis& analysis, const CellMean& mean,
                                    const CellMean& reference) {
  if (analysis.spec.treatments.size() != 1) return nullptr;
  for (const stats::Effect& effect : analysis.effects)
    if (effect.scope == stats::Scope::subject && effect.subject == mean.subject &&
        effect.level == mean.levels[0] && effect.baseline == reference.levels[0])
      return &effect;
  return nullptr;
}

std::optional<stats::Interval> interval_of(const stats::Effect* effect) {
  if (effect == nullptr || !effect->low || !effect->high) return std::nullopt;
  return stats::Interval{.low = 100 * (*effect->low - 1), .high = 100 * (*effect->high - 1)};
}

using References = std::map<std::string, const CellMean*>;

// The reference cell of each subject: all treatments have their first planned level, and the mean
// is surely above 0. If the mean were near 0, any difference would be many percent.
References references_of(const Analysis& analysis, const PlannedLevels& levels) {
  References found;
  for (const CellMean& mean : analysis.means) {
    const bool first =
        std::ranges::equal(mean.levels, levels, [](const std::string& level, const auto& planned) {
          return !planned.empty() && level == planned.front();
        });
    const bool sure = analysis.spec.log_scale ? mean.mean > 0 : mean.low && *mean.low > 0;
    if (first && sure) found.try_emplace(mean.subject, &mean);
  }
  return found;
}

// With only two cells for each subject, the picture of changes shows the same.
bool says_more(const Analysis& analysis, const std::map<std::string, std::size_t>& cells) {
  if (analysis.spec.treatments.empty() || analysis.calibration) return false;
  return std::ranges::any_of(cells, [](const auto& each) { return each.second > 2; });
}

}  // namespace

std::vector<Figure> overheads(const Analysis& analysis, const PlannedLevels& levels) {
  if (levels.size() != analysis.spec.treatments.size()) return {};
  const References references = references_of(analysis, levels);
  if (references.empty()) return {};
  std::map<std::string, std::size_t> cells;
  std::vector<Bar> bars;
  Table numbers{.columns = {{"cell"}, {"mean", true}, {"relative to the reference", true}}};
  const Scale scale = scale_for(analysis.means, analysis.spec.unit);
  for (const CellMean& mean : analysis.means) {
    const auto reference = references.find(mean.subject);
    const bool known = reference != references.end();
    const bool compared = known && reference->second != &mean;
    ++cells[mean.subject];
    const std::string name = fmt::format("{}{}{}", mean.subject, mean.subject.empty() ? "" : " ",
                                         levels_text(analysis, mean));
    const double percent = compared ? 100 * (mean.mean / reference->second->mean - 1) : 0;
    numbers.rows.push_back({name, quantity(mean.mean, scale),
                            compared ? fmt::format("{:+.2f} %", percent)
                            : known  ? "reference"
                                     : "-"});
    if (!compared) continue;
    const stats::Effect* effect = effect_or_null(analysis, mean, *reference->second);
    bars.push_back({.name = name,
                    .colour = effect == nullptr ? no_verdict : colour_of(analysis, *effect),
                    .percent = percent,
                    .interval = interval_of(effect)});
  }
  if (bars.empty() || !says_more(analysis, cells)) return {};
  Figure figure{.title = "Each cell over its reference"};
  figure.words = fmt::format(
      "Each cell is compared with the reference cell, in which every treatment has its first level "
      "({}).{}{}{} {}",
      levels_text(analysis, *references.begin()->second),
      references.size() < cells.size()
          ? " If the reference cell has no trials, or if its mean may be 0, no cells are compared."
          : "",
      analysis.spec.treatments.size() == 1
          ? ""
          : " The section on changes above has confidence intervals.",
      bars.size() > most_lines ? fmt::format(" The picture shows only the first {} of {} cells.",
                                             most_lines, bars.size())
                               : "",
      colour_words);
  figure.picture =
      draw(bars, figure.title, response_words(analysis.spec) + " relative to the reference, %");
  figure.numbers = std::move(numbers);
  return {std::move(figure)};
}

std::vector<Figure> seeds(const Analysis& analysis) {
  std::vector<Figure> figures;
  for (const stats::PaddingSeeds& each : analysis.padding) {
    if (figures.size() == most_pictures) break;
    Figure figure{.title = fmt::format("{}{}{}={} against {}", each.subject,
                                       each.subject.empty() ? "" : ": ", each.treatment, each.level,
                                       each.baseline)};
    std::vector<Bar> bars;
    for (std::size_t i = 0; i < each.seeds.size() && i < each.percent.size(); ++i)
      bars.push_back({.name = "padding " + each.seeds[i], .percent = each.percent[i]});
    if (bars.empty()) continue;
    figure.numbers = page_table({.rows = seed_rows(each)});
    if (bars.size() > most_lines)
      figure.words = fmt::format("The picture shows only the first {} of {} paddings.", most_lines,
                                 bars.size());
    figure.picture = draw(bars, figure.title, "change of " + response_words(analysis.spec) + ", %");
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<Figure> floors(const Analysis& analysis) {
  if (!analysis.calibration) return {};
  std::vector<Bar> bars;
  Part numbers;
  const auto add = [&](const stats::Floor& floor, const std::string& name,
                       const std::string& colour) {
    if (!floor.margin) return;
    Bar bar{.name = name, .colour = colour, .percent = 100 * *floor.margin};
    if (floor.interval)
      bar.interval = {.low = 100 * floor.interval->low, .high = 100 * floor.interval->high};
    numbers.rows.push_back(floor_row(analysis.spec, name, floor));
    bars.push_back(std::move(bar));
  };
  // If there is no room for all noise floors, the first ones are drawn.
  add(analysis.calibration->any, "any one program", colour_class(2));
  add(analysis.calibration->suite, "all of them together", colour_class(3));
  for (const stats::Floor& each : analysis.calibration->benchmarks)
    add(each, each.subject, no_verdict);
  if (bars.empty()) return {};
  Figure figure{.title = "Noise floors"};
  figure.words = fmt::format(
      "If a program is compared with itself in {} blocks, the change stays within the noise floor "
      "in {} of the comparisons. Changes below the noise floor cannot be told from noise. Lines "
      "are confidence intervals of the noise floor.{}",
      analysis.calibration->blocks, level_text(analysis.spec.alpha),
      bars.size() > most_lines
          ? fmt::format(" The picture shows only the first {} of {} noise floors.", most_lines,
                        bars.size())
          : "");
  figure.picture =
      draw(bars, figure.title, "noise floor of " + response_words(analysis.spec) + ", %");
  figure.numbers = page_table(numbers);
  return {std::move(figure)};
}

}  // namespace stab::report::html
