// SPDX-License-Identifier: MIT
#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "report/drawing/figure.h"
#include "report/drawing/markup.h"
#include "report/html/groups.h"
#include "report/html/head.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"

namespace stab::report::html {
namespace {

std::string first_words(std::size_t shown, std::size_t all, const std::string& what) {
  return shown < all ? fmt::format("Only the first {} of {} {} are shown. ", shown, all, what) : "";
}

std::size_t paddings(const stats::Analysis& analysis) {
  return static_cast<std::size_t>(std::ranges::count_if(
      analysis.padding, [](const stats::PaddingSeeds& each) { return !each.seeds.empty(); }));
}

std::string factor_words(const stats::Analysis& analysis, std::size_t pairs) {
  const std::size_t treatments = analysis.spec.treatments.size();
  return first_words(pairs, treatments * (std::max<std::size_t>(treatments, 1) - 1) / 2, "pairs") +
         fmt::format(
             "The pictures leave out benchmarks that lack a combination of levels, or whose mean "
             "is not above 0. If two treatments do not interact, their lines are parallel{} except "
             "for noise. To tell an interaction from noise, see the p-value of the interaction in "
             "the analysis of variance.",
             analysis.spec.log_scale ? " on this logarithmic scale" : "");
}

// Keeps the first `most_pictures` figures, and returns a sentence about the others, or "".
std::string cut(std::vector<Figure>& figures) {
  const std::size_t all = figures.size();
  figures.resize(std::min(all, most_pictures));
  return first_words(figures.size(), all, "pictures");
}

void add_causal(Markup& markup, const Document& document) {
  std::vector<Figure> curves = causal_curves(document);
  std::vector<Figure> loads = causal_loads(document);
  const std::string curve_words = cut(curves);
  const std::string load_words = cut(loads);
  markup
      .add(section(
          "causal", "Gain from faster lines",
          curve_words +
              "Each dot is the gain in experiments with a virtual speedup of the source line, "
              "relative to experiments without a speedup. The confidence bands of a source line "
              "are valid for all its speedups together. Only the best source lines have curves; "
              "the table has all lines. Gains beyond 150 % are drawn at 150 %.",
          curves))
      .add(section("loads", "More load", load_words + "Means over runs, with intervals.", loads));
}

void add_pictures(Markup& markup, const Document& document, const Background& background) {
  const stats::Analysis& analysis = document.analysis;
  const Shots& shots = background.shots;
  const std::vector<SubjectShots> subjects = by_subject(shots, analysis);
  const std::string kept = kept_words(shots);
  std::vector<Figure> changes = forest(analysis);
  for (const stats::Analysis& other : document.others)
    for (Figure& each : forest(other)) {
      each.title += " of " + response_words(other.spec);
      changes.push_back(std::move(each));
    }
  const std::vector<Figure> by_padding = seeds(analysis);
  const std::vector<Figure> by_treatment = factors(analysis, background.levels);
  const std::size_t by_two = by_treatment.empty() ? 0 : by_treatment.size() - 1;
  add_causal(markup, document);
  markup.add(section("effects", "Changes", "", changes))
      .add(section("seeds", "Changes under each padding",
                   first_words(by_padding.size(), paddings(analysis), "comparisons"), by_padding))
      .add(section("floors", "Noise floors", "", floors(analysis)))
      .add(
          section("overheads", "Against the reference", "", overheads(analysis, background.levels)))
      .add(section("factors", "Treatments, alone and in pairs", factor_words(analysis, by_two),
                   by_treatment))
      .add(section("trials", "Trials",
                   "Each dot is a successful trial. The vertical line is the mean of the cell, and "
                   "the horizontal line is the confidence interval of the mean. " +
                       kept,
                   distributions(analysis, shots, subjects)))
      .add(section("order", "Trials in order",
                   "If the dots form a slope or a step, something changed on the machine. Every "
                   "second block is shaded, unless there are too many blocks.",
                   sequences(analysis, shots, subjects)))
      .add(residual_part(analysis, shots, subjects));
}

}  // namespace

Markup policy_part(Literal policy) {
  Markup markup;
  return std::move(markup.empty("meta", {{"http-equiv", "Content-Security-Policy"},
                                         {"content", std::string(policy.text())}}));
}

Markup head_part(const std::string& title, const Markup& first) {
  Markup markup;
  markup.open("head")
      .empty("meta", {{"charset", "utf-8"}})
      .add(first)
      .empty("meta", {{"name", "viewport"}, {"content", "width=device-width, initial-scale=1"}})
      .empty("meta", {{"name", "color-scheme"}, {"content", "light dark"}})
      .leaf("title", title)
      .open("style")
      .literal(style())
      .close();
  return std::move(markup.close());
}

void add_head(Markup& markup, const std::string& title) {
  markup.add(head_part(title, policy_part(page_policy)));
}

std::string page(const Document& document, const Background& background) {
  Markup markup;
  markup.literal("<!DOCTYPE html>\n").open("html", {{"lang", "en"}});
  add_head(markup, document.experiment + " - stabd");
  markup.open("body").add(summary_part(document)).open("main");
  add_pictures(markup, document, background);
  markup.add(section_part("anova", anova_section(document.analysis)))
      .add(section_part("components", components_section(document.analysis)))
      .add(section_part("counters", counters_section(document.counters)))
      .add(section_part("measures", measures_section(document.measures)))
      .add(machine_part(document, background))
      .add(chance_part(background))
      .add(plan_part(document, background))
      .add(text_part(document));
  markup.close().close().close();
  assert(markup.is_whole());
  return markup.str();
}

}  // namespace stab::report::html
