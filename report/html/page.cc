// SPDX-License-Identifier: MIT
#include "report/html/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "report/html/markup.h"
#include "report/html/parts.h"
#include "report/sections/sections.h"
#include "report/text.h"
#include "report/words/answer.h"
#include "stats/verdicts/decide.h"

namespace stab::report::html {

// Sections of the report and their tables.

Table page_table(const Part& part) {
  Table table;
  const Shown shown = shown_columns(part, true);
  for (const std::size_t i : shown.fields)
    table.columns.push_back(
        {*(*shown.headings)[i].heading, (*shown.headings)[i].align == Align::right});
  for (const Row& row : part.rows) {
    if (row.empty()) continue;
    auto& cells = table.rows.emplace_back();
    for (const std::size_t i : shown.fields) cells.push_back(text_on_page(row[i]));
  }
  return table;
}

Markup section_part(Literal id, const Section& section) {
  Markup markup;
  if (section.parts.empty()) return markup;
  markup.open("section", {{"id", std::string(id.text())}}).leaf("h2", section.title);
  markup.leaf("p", section.words, {{"class", "words"}});
  const std::size_t shown = std::min(section.parts.size(), most_lines);
  for (const Part& part : std::span(section.parts).first(shown)) {
    if (part.is_for_text) continue;
    if (!part.title.empty()) markup.leaf("h3", title_of(part, part.title.size()));
    if (!part.rows.empty()) markup.add(table(page_table(part)));
    for (const std::string& each : part.below) markup.leaf("p", each, {{"class", "words"}});
  }
  if (shown < section.parts.size())
    markup.leaf("p",
                fmt::format("The page shows the first {} of {} tables; the text report shows all.",
                            shown, section.parts.size()));
  return std::move(markup.close());
}

// The first screen of the page: the question, the answer and how much to trust it.

namespace {

// Splits the answer into its sentences, which are its lines.
std::vector<std::string> sentences(const Document& document) {
  std::vector<std::string> found;
  std::string rest = answer_of(document);
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) found.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return found;
}

// The CSS classes of the answer, from all verdicts together.
std::string kind_of(const Document& document) {
  const stats::Findings findings = document.findings();
  if (!document.compares || document.analysis.effects.empty()) return "answer";
  if (findings.regressed) return "answer worse";
  if (findings.unsure) return "answer";
  const bool better = std::ranges::any_of(
      stats::deciding_effects(document.analysis),
      [](const stats::Effect* effect) { return effect->verdict == stats::Verdict::faster; });
  return better ? "answer better" : "answer alike";
}

// More items than this are hidden until the user opens them.
constexpr std::size_t most_open = 3;

void add_list(Markup& markup, std::string_view title, const std::vector<std::string>& items) {
  if (items.empty()) return;
  const auto list = [&](std::span<const std::string> part) {
    markup.open("ul", {{"class", "notes"}});
    for (const std::string& each : part) markup.leaf("li", each);
    markup.close();
  };
  markup.leaf("h3", title);
  const std::size_t open = items.size() <= most_open + 1 ? items.size() : most_open;
  list(std::span(items).first(open));
  if (open == items.size()) return;
  markup.open("details").leaf("summary", fmt::format("{} more", items.size() - open));
  list(std::span(items).subspan(open));
  markup.close();
}

void add_trust(Markup& markup, const Document& document) {
  markup.leaf("h3", "How much to trust this result").open("dl");
  for (const KnownFact& each : known_facts(document))
    if (each.where != Where::text)
      markup.leaf("dt", each.label).leaf("dd", one_line(each.text, longest));
  markup.close();
}

}  // namespace

Markup summary_part(const Document& document) {
  Markup markup;
  markup.open("header").leaf("h1",
                             fmt::format("{} (experiment {})", document.experiment, document.id));
  if (!document.question.empty()) markup.leaf("p", document.question, {{"class", "question"}});
  markup.open("div", {{"class", kind_of(document)}});
  for (const std::string& each : sentences(document)) markup.leaf("p", each);
  markup.close();
  add_trust(markup, document);
  add_list(markup, "Failures", document.failures);
  add_list(markup, "Notes", document.analysis.notes);
  markup.close();
  return markup;
}

// The origin of the numbers: the machine, the random and fixed conditions, the plan, and how to run
// it again.

namespace {

void folded_text(Markup& markup, std::string_view line, std::string_view text) {
  markup.open("details").leaf("summary", line).leaf("pre", text, {{"tabindex", "0"}}).close();
}

Table builds_table(const Background& background) {
  Table table{.columns = {{"benchmark"}, {"command"}, {"result"}, {"SHA-256 of the program"}}};
  for (const BuildLine& each : background.builds)
    table.rows.push_back(
        {each.benchmark, each.command, each.status, each.binary_sha256.substr(0, 16)});
  return table;
}

}  // namespace

Markup machine_part(const Document& document, const Background& background) {
  Markup markup;
  markup.open("section", {{"id", "machine"}}).leaf("h2", "Machine");
  markup.leaf("p", document.machine.empty() ? "Not known." : document.machine);
  if (!document.versions.empty()) markup.leaf("p", document.versions);
  if (const std::string quiet = quiet_text(document.quietness); !quiet.empty())
    markup.leaf("p", quiet);
  if (!background.machine.empty()) {
    Table table{.columns = {{"property"}, {"value"}}};
    for (const Fact& each : background.machine) table.rows.push_back({each.name, each.value});
    markup.add(folded_table(table, "Everything stored about this machine"));
  }
  markup.close();
  return markup;
}

Markup chance_part(const Background& background) {
  Markup markup;
  if (background.chances.empty()) return markup;
  markup.open("section", {{"id", "chance"}}).leaf("h2", "Random and fixed conditions");
  markup.leaf("p",
              "A condition that is chosen at random cannot always favor the same version. A fixed "
              "condition can favor one version in every trial, so the result is valid only for "
              "this condition.",
              {{"class", "words"}});
  Table table{.columns = {{"what"}, {"random"}, {"how"}}};
  for (const Chance& each : background.chances)
    table.rows.push_back({each.what, each.random ? "yes" : "no", each.how});
  markup.add(html::table(table)).close();
  return markup;
}

Markup plan_part(const Document& document, const Background& background) {
  Markup markup;
  markup.open("section", {{"id", "plan"}})
      .leaf("h2", "Plan, builds and how to run the experiment again");
  markup.open("dl")
      .leaf("dt", "Seed")
      .leaf("dd", fmt::format("{}; every random choice derives from this seed", document.seed));
  if (!background.directory.empty()) markup.leaf("dt", "Folder").leaf("dd", background.directory);
  if (!document.database.empty()) markup.leaf("dt", "Database").leaf("dd", document.database);
  markup.leaf("dt", "Replay a trial").open("dd");
  markup.leaf("code", fmt::format("stabctl replay {} POSITION", document.id))
      .text(
          " (tables of trials in order list the positions; for an experiment of 'stabctl "
          "run', add --folder FOLDER)");
  markup.close().close();
  if (!background.builds.empty()) markup.add(folded_table(builds_table(background), "Builds"));
  folded_text(markup, "The plan as it was submitted", background.plan);
  markup.close();
  return markup;
}

Markup text_part(const Document& document) {
  Markup markup;
  markup.open("section", {{"id", "text"}}).leaf("h2", "The whole report as text");
  folded_text(markup, "All tables and all tests", text(document, {.full = true}));
  markup.close();
  return markup;
}

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
             "The pictures leave out a benchmark if its mean is not above 0, or if it lacks trials "
             "at some combination of levels. If two treatments do not interact, their lines are "
             "parallel{} except for noise. To tell an interaction from noise, see the answer and "
             "the notes, which name the significant interactions.",
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
              "Each dot is a gain: experiments with a virtual speedup of the source line are "
              "compared with experiments without a speedup. The confidence bands of a source line "
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
      .add(section_part("machines", machines_section(document.analysis)))
      .add(section_part("components", components_section(document.analysis)))
      .add(section_part("cost", cost_section(document)))
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

std::string colour_of(const stats::Analysis& analysis, const stats::Effect& effect) {
  if (stats::is_control(effect, analysis.spec)) return no_verdict;
  switch (effect.verdict) {
    case stats::Verdict::faster:
      return "good";
    case stats::Verdict::slower:
      return "bad";
    case stats::Verdict::same:
      return "alike";
    case stats::Verdict::unsure:
      break;
  }
  return no_verdict;
}

Literal style() {
  return R"(
:root { color-scheme: light dark; --back: #fff; --text: #1b2129; --faint: #566070; --line: #d7dde5;
  --box: #f4f6f9; --shade: #eef1f6; --good: #146c35; --bad: #b3261e; --link: #0b5cad;
  --c0: #0b62c4; --c1: #92610a; --c2: #7c3aed; --c3: #0e7490; --c4: #a21caf; --c5: #1e3a8a;
  --c6: #78350f; --c7: #4d5566; }
@media (prefers-color-scheme: dark) { :root { --back: #14181e; --text: #e3e8ef; --faint: #9da9b8;
  --line: #343d49; --box: #1d232b; --shade: #1f2731; --good: #63d58c; --bad: #ff8a80;
  --link: #7db8ff; --c0: #6cb2ff; --c1: #e5b567; --c2: #bda2ff; --c3: #4fd1d9; --c4: #f29bf0;
  --c5: #9db4ff; --c6: #d6a37c; --c7: #aab4c3; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--back); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.1rem; margin: 0; color: var(--faint); font-weight: 600; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .5rem; border-top: 1px solid var(--line); padding-top: 1rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .4rem 0; }
.question { font-size: 1.15rem; margin-top: .2rem; }
.answer { background: var(--box); border-left: .3rem solid var(--c7); padding: .6rem 1rem;
  margin: .8rem 0; font-size: 1.15rem; font-weight: 600; }
.answer p + p { font-size: 1rem; font-weight: 400; }
.answer.better { border-color: var(--good); }
.answer.worse { border-color: var(--bad); }
.answer.alike { border-color: var(--c0); }
.words { color: var(--faint); max-width: 48rem; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .3rem 1rem; margin: .8rem 0; }
dt { color: var(--faint); }
dd { margin: 0; min-width: 0; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
ul.notes { padding-left: 1.2rem; }
.figures { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr)); gap: 1.5rem 2rem; }
.one figure { max-width: 44rem; }
figure { margin: .8rem 0 0; min-width: 0; }
figcaption { font-weight: 600; }
svg { display: block; width: 100%; height: auto; margin: .4rem 0; }
svg text { paint-order: stroke; stroke: var(--back); stroke-width: 3px; fill: var(--text); font: 12px system-ui, sans-serif; }
svg .tick, svg .axis { fill: var(--faint); font-size: 11.5px; }
@media (max-width: 30rem) { svg text { font-size: 14px; } svg .tick, svg .axis { font-size: 13px; } }
svg .strong { font-weight: 600; }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg line { stroke: currentColor; }
svg .grid { stroke: var(--line); }
svg .zero { stroke: var(--faint); stroke-width: 1.5; }
svg .shade { fill: var(--shade); }
svg .thin { stroke-width: 1.2; }
svg .thick { stroke-width: 2.5; }
svg .mean { stroke: var(--text); stroke-width: 1.6; }
svg .guide { stroke: var(--faint); stroke-dasharray: 4 3; }
svg circle.hollow { fill: none; stroke-width: 1.6; }
svg circle.faint { fill-opacity: .55; }
svg rect.faint { fill-opacity: .35; }
.c0 { fill: var(--c0); stroke: var(--c0); } .c1 { fill: var(--c1); stroke: var(--c1); }
.c2 { fill: var(--c2); stroke: var(--c2); } .c3 { fill: var(--c3); stroke: var(--c3); }
.c4 { fill: var(--c4); stroke: var(--c4); } .c5 { fill: var(--c5); stroke: var(--c5); }
.c6 { fill: var(--c6); stroke: var(--c6); } .c7 { fill: var(--c7); stroke: var(--c7); }
svg .good { fill: var(--good); stroke: var(--good); } svg .bad { fill: var(--bad); stroke: var(--bad); }
svg .alike { fill: var(--c0); stroke: var(--c0); }
svg .back { fill: var(--back); stroke: none; }
svg .failed { stroke: var(--bad); stroke-width: 2; fill: none; }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .2rem 1rem; padding: 0; margin: .2rem 0; font-size: .9rem; }
.key { display: inline-block; width: .75rem; height: .75rem; border-radius: 50%; }
.key.c0 { background: var(--c0); } .key.c1 { background: var(--c1); } .key.c2 { background: var(--c2); }
.key.c3 { background: var(--c3); } .key.c4 { background: var(--c4); } .key.c5 { background: var(--c5); }
.key.c6 { background: var(--c6); } .key.c7 { background: var(--c7); }
details { margin: .3rem 0; }
summary { cursor: pointer; color: var(--link); font-size: .9rem; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .85rem; overflow-wrap: normal; }
th, td { text-align: left; padding: .15rem .7rem .15rem 0; vertical-align: top; border-bottom: 1px solid var(--line); }
th { color: var(--faint); font-weight: 600; }
.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
pre { background: var(--box); padding: .7rem; overflow-x: auto; font-size: .8rem; line-height: 1.4; margin: .3rem 0; }
code { font-size: .85em; }
@media print { :root { color-scheme: light; --back: #fff; --text: #000; --faint: #444; --line: #bbb;
  --box: #f2f2f2; --shade: #ececec; --good: #146c35; --bad: #b3261e; --link: #000; --c0: #0b62c4;
  --c1: #92610a; --c2: #7c3aed; --c3: #0e7490; --c4: #a21caf; --c5: #1e3a8a; --c6: #78350f; --c7: #4d5566; }
  body { max-width: none; font-size: 10pt; } figure, tr, dl { break-inside: avoid; }
  pre { white-space: pre-wrap; } .scroll { overflow: visible; } svg { max-width: 13cm; } }
)";
}

}  // namespace stab::report::html
