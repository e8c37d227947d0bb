// SPDX-License-Identifier: MIT
// The sections that show measured numbers: the means of cells, how much their trials and the
// samples within trials vary, and counters.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
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
  const std::string words = one_line(value_words(spec), 60);
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
  return {
      .title = response_title(spec),
      .words = fmt::format("{} means of the trials; {}. sd is the trials' standard deviation, as a "
                           "percentage of the mean.",
                           spec.log_scale ? "Geometric" : "Arithmetic", better_words(spec)),
      .parts = {std::move(part)}};
}

namespace {

// Shows two digits of the interval's half width, but at least three digits of the ratio.
std::string ratio_text(double ratio, const stats::Spread& spread) {
  const double half = (spread.high - spread.low) / 2;
  if (!(half > 0) || half > ratio / 10) return fmt::format("{:.3g}", ratio);
  return fmt::format("{:.{}f}", ratio,
                     std::clamp(1 - static_cast<int>(std::floor(std::log10(half))), 0, 6));
}

Row spread_row(const Analysis& analysis, const std::string& subject, const std::string& treatment,
               const std::string& levels, const stats::Spread& spread) {
  return {
      subject_column(analysis, subject, model_scope(analysis, subject)),
      shown_only("treatment", treatment).named(longest_name),
      shown_only("from -> to", levels).left(),
      shown_only("variance ratio", ratio_text(spread.ratio, spread)).in(Style::bold),
      shown_only(
          level_text(analysis.spec.alpha) + " interval",
          fmt::format("{} to {}", ratio_text(spread.low, spread), ratio_text(spread.high, spread))),
      shown_only("p", p_text(spread.p)),
  };
}

}  // namespace

Value spread_value(const std::optional<stats::Spread>& spread) {
  if (!spread) return {};
  return Row{json_only("ratio", spread->ratio), json_only("low", spread->low),
             json_only("high", spread->high), json_only("p", spread->p)};
}

Section spread_section(const Analysis& analysis) {
  Part part;
  for (const stats::Effect& effect : analysis.effects)
    if (effect.spread)
      part.rows.push_back(spread_row(analysis, effect.subject, effect.treatment,
                                     name(effect.baseline) + " -> " + name(effect.level),
                                     *effect.spread));
  for (const stats::Interaction& each : analysis.interactions)
    if (each.spread)
      part.rows.push_back(
          spread_row(analysis, each.subject, each.term, "(interaction)", *each.spread));
  if (part.rows.empty()) return {};
  const bool nested = analysis.spec.design == stats::Design::nested;
  return {
      .title = "Changes of the variance",
      .words = fmt::format(
          "The variance ratio is the variance of {} within a cell at the second level, divided by "
          "the variance at the first level. A ratio of 1 means no change.",
          nested ? "the means of seeds" : "the trials"),
      .parts = {std::move(part)}};
}

// Samples within trials: says whether more samples or more trials would help.

Section samples_section(const Document& document) {
  if (document.samples.empty()) return {};
  const stats::Spec& spec = document.analysis.spec;
  const auto sd = [&](double variance) {
    return spec.log_scale ? fmt::format("{:.3g} %", 100 * std::sqrt(variance))
                          : short_number(std::sqrt(variance));
  };
  Part part;
  for (const WithinTrials& each : document.samples)
    part.rows.push_back({
        column("benchmark", each.subject, name(spec.subject), each.subject)
            .named(longest_name)
            .in(Style::bold),
        column("samples_per_trial", each.samples, "samples a trial",
               fmt::format("{:.3g}", each.samples)),
        column("between", each.between, "sd between trials",
               fmt::format("{} ({} to {})", sd(each.between), sd(each.between_low),
                           sd(each.between_high))),
        json_only("between_low", each.between_low),
        json_only("between_high", each.between_high),
        column("within", each.within, "sd within a trial", sd(each.within)),
        json_only("within_low", each.within_low),
        json_only("within_high", each.within_high),
        column("share_within", known(each.share), "share from within",
               each.share ? fmt::format("{:.0f} %", 100 * *each.share) : "-"),
    });
  return {
      .title = "Samples within trials",
      .words = fmt::format(
          "Samples of {}. A trial counts as one value (the mean of its samples), no matter how "
          "many samples it has. The last column shows the largest share of the variance that more "
          "samples per trial can remove; only more trials reduce the rest of the variance.",
          name(spec.response)),
      .parts = {std::move(part)}};
}

namespace {

std::string median_text(const Counter& counter) {
  if (!counter.median) return "-";
  if (counter.unit != "ns" && counter.unit != "bytes")
    return short_number(*counter.median) +
           (counter.unit.empty() ? "" : " " + one_line(counter.unit, longest));
  const UnitStep step = unit_step(
      *counter.median, counter.unit == "ns" ? stats::Unit::nanoseconds : stats::Unit::bytes);
  return fmt::format("{} {}", short_number(*counter.median / step.factor), step.name);
}

std::string counter_remark(const Counter& counter) {
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "; ") + part; };
  if (counter.of_blocks > 0)
    add(fmt::format("counted in {} of {} blocks, because events take turns", counter.blocks,
                    counter.of_blocks));
  if (counter.scaled > 0)
    add(fmt::format(
        "scaled in {} of the trials (in each of them, counted for at least {:.0f} % of the time)",
        counter.scaled, 100 * counter.least_coverage));
  if (counter.left_out > 0)
    add(fmt::format(
        "{} of the scaled values were left out, because they cover less than half the time",
        counter.left_out));
  if (counter.absent > 0)
    add(fmt::format("absent in {} of the trials: {}", counter.absent, counter.reason));
  return one_line(text, longest);
}

Row counter_row(const Counter& each, const char* heading) {
  const auto blocks = [&](std::uint64_t n) { return each.of_blocks > 0 ? Value(n) : Value(); };
  return {
      column("name", each.name, heading, each.name).named(longest_name),
      json_only("unit", each.unit),
      json_only("counted", each.counted),
      json_only("scaled", each.scaled),
      shown_only("trials", fmt::format("{}", each.counted + each.scaled)),
      json_only("absent", each.absent),
      json_only("left_out", each.left_out),
      json_only("least_coverage", each.scaled > 0 ? Value(each.least_coverage) : Value()),
      column("median", known(each.median), "median", median_text(each)),
      shown_only("absent", fmt::format("{}", each.absent)).on_page(),
      json_only("reason", known(each.reason)),
      json_only("blocks", blocks(each.blocks)),
      json_only("of_blocks", blocks(each.of_blocks)),
      shown_only("remark", counter_remark(each)).left().on_page(),
  };
}

Section section_of(const std::vector<Counter>& counters, const char* title, const char* words,
                   const char* heading) {
  if (counters.empty()) return {};
  Part part;
  Part remarks{.is_for_text = true};
  for (const Counter& each : counters) {
    part.rows.push_back(counter_row(each, heading));
    if (const std::string text = counter_remark(each); !text.empty())
      remarks.below.push_back(fmt::format("{}: {}", name(each.name), text));
  }
  Section section{.title = title, .words = words, .parts = {std::move(part)}};
  if (!remarks.below.empty()) section.parts.push_back(std::move(remarks));
  return section;
}

}  // namespace

Section counters_section(const std::vector<Counter>& counters) {
  return section_of(counters, "Counters", "Event counts in the successful trials of all cells.",
                    "event");
}

Section measures_section(const std::vector<Counter>& measures) {
  return section_of(measures, "Measures",
                    "Values that programs print, derived measures, region times and simulated "
                    "counts, in the successful trials of all cells.",
                    "measure");
}

}  // namespace stab::report
