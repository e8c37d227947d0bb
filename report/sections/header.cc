// SPDX-License-Identifier: MIT
// The facts and the answer above the tables: the experiment, how it went, and what came of it.
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "report/sections/section.h"
#include "report/sections/sections.h"
#include "report/words/answer.h"
#include "report/words/causal_words.h"
#include "report/words/grid.h"

namespace stab::report {
namespace {

// "2026-01-31 12:00 to 12:05 UTC", with both days if they differ.
std::string measured_text(const Document& document) {
  if (document.from_ns == 0) return "";
  const auto time = [](std::int64_t ns) {
    return fmt::gmtime(static_cast<std::time_t>(ns / 1'000'000'000));
  };
  const auto from = time(document.from_ns);
  const auto to = time(document.to_ns);
  const bool one_day = from.tm_yday == to.tm_yday && from.tm_year == to.tm_year;
  return fmt::format("{:%Y-%m-%d %H:%M} to ", from) +
         (one_day ? fmt::format("{:%H:%M} UTC", to) : fmt::format("{:%Y-%m-%d %H:%M} UTC", to));
}

std::string share_percent(double share) {
  return fmt::format("{:.4g} %", 100 * share);
}

std::string words_of(const Outputs& outputs) {
  const std::string counts =
      fmt::format("{} different outputs in {} trials", outputs.different, outputs.trials);
  if (!outputs.factors.empty())
    return fmt::format("{} prints different output at different levels of {} ({})",
                       outputs.benchmark, fmt::join(outputs.factors, ", "), counts);
  if (outputs.varying_cells == 0)
    return fmt::format("{} prints different output in different cells ({})", outputs.benchmark,
                       counts);
  return fmt::format(
      "{} prints different output in trials of the same cell ({}; this happened in {} of {} "
      "cell{})",
      outputs.benchmark, counts, outputs.varying_cells, outputs.cells,
      outputs.cells == 1 ? "" : "s");
}

bool depends_on_level(const Outputs& outputs) {
  return !outputs.factors.empty() || outputs.varying_cells == 0;
}

// The words for one kind of randomization, as worker/runtime_report.cc writes it. Code and stack
// frames move when a layout begins. A block of the heap gets a random place when it is allocated.
std::string kind_text(const std::string& kind) {
  std::vector<std::string> moving;
  std::string when;
  std::string budget;
  bool has_heap = false;
  bool is_budget = false;
  for (const auto part : std::views::split(kind, ' ')) {
    const std::string word(part.begin(), part.end());
    const bool is_period =
        word.ends_with("s") && !word.empty() && word.front() >= '0' && word.front() <= '9';
    if (std::exchange(is_budget, word == "budget"))
      budget = word == "off" ? ", without a budget"
                             : fmt::format(", with a budget of {} % of CPU time",
                                           word.substr(0, word.find('%')));
    else if (word == "code")
      moving.push_back(word);
    else if (word == "stack")
      moving.emplace_back("stack frames");
    else if (word == "heap")
      has_heap = true;
    else if (word == "once")
      when = " once";
    else if (word == "repeated")
      when = ", again and again";
    else if (is_period)
      when = fmt::format(", again every {} {}", word.substr(0, word.size() - 2),
                         word.substr(word.size() - 2));
  }
  if (moving.empty()) return has_heap ? "heap blocks" : kind;
  return fmt::format("{}{}{}{}", fmt::join(moving, " and "), when, budget,
                     has_heap ? ", and heap blocks" : "");
}

}  // namespace

std::string kinds_text(const Layouts& layouts) {
  std::vector<std::string> all;
  for (const auto part : std::views::split(layouts.kinds, std::string_view(", "))) {
    std::string text = kind_text(std::string(part.begin(), part.end()));
    if (std::ranges::find(all, text) == all.end()) all.push_back(std::move(text));
  }
  return fmt::format("{}", fmt::join(all, " or "));
}

std::string trials_text(const Document& document) {
  const TrialCounts& counts = document.trials;
  std::string text = fmt::format("{} ok, {} failed", counts.ok, counts.failed);
  if (counts.skipped > 0) text += fmt::format(", {} skipped", counts.skipped);
  if (counts.disturbed > 0) text += fmt::format(", {} disturbed", counts.disturbed);
  text += fmt::format(" of {}{} planned", document.stopping ? "at most " : "", counts.planned);
  if (document.duration.count() > 0) text += ", in " + format_duration(document.duration);
  return text;
}

std::string layouts_text(const Layouts& layouts, bool is_short) {
  constexpr double usual_share = 0.9;
  if (layouts.randomized + layouts.unrandomized == 0) return "";
  std::string text =
      fmt::format("{} of {} trials randomized", layouts.randomized,
                  layouts.randomized + layouts.unrandomized + layouts.without_runtime);
  if (!layouts.kinds.empty()) text += fmt::format(" ({})", kinds_text(layouts));
  if (layouts.median_share && !(is_short && *layouts.least_share > usual_share)) {
    text += fmt::format("; {} of their code moved", share_percent(*layouts.median_share));
    if (*layouts.least_share < *layouts.median_share)
      text += fmt::format(" (at least {})", share_percent(*layouts.least_share));
  }
  const bool are_many = layouts.median_epochs.value_or(1) > 1;
  if (are_many) text += fmt::format("; median of {:.4g} layouts per run", *layouts.median_epochs);
  if (layouts.few_epochs > 0)
    text += fmt::format(
        "; warning: {} had fewer than {} layouts: choose {}", layouts.few_epochs, enough_epochs,
        layouts.period_is_chosen ? "longer runs" : "a shorter period or longer runs");
  if (layouts.fixed_heaps > 0 && is_short)
    text += fmt::format("; warning: in {}, most of the heap's bytes were not placed at random",
                        layouts.fixed_heaps);
  if (layouts.fixed_heaps > 0 && !is_short)
    text += fmt::format(
        "; warning: in {}, more than half of the heap's bytes were not placed at random, because "
        "they were in large blocks or in address order (median {})",
        layouts.fixed_heaps, share_percent(*layouts.median_fixed));
  return text;
}

std::string relative_text(const Document& document) {
  if (document.beside.empty()) return "";
  return fmt::format("to the CPU time of {}, which ran beside each trial", document.beside);
}

std::string drawn_text(const std::vector<Drawn>& drawn, std::size_t longest_reason) {
  std::string random;
  std::vector<std::pair<std::string, std::string>> fixed;  // reasons and what they are about
  for (const Drawn& each : drawn) {
    if (each.is_random) {
      random += fmt::format("{}{}{}", random.empty() ? "" : ", ", each.what,
                            each.cost.empty() || longest_reason == 0
                                ? ""
                                : fmt::format(" ({})", one_line(each.cost, longest_reason)));
      continue;
    }
    const auto known = std::ranges::find(fixed, each.why, &decltype(fixed)::value_type::first);
    if (known == fixed.end())
      fixed.emplace_back(each.why, each.what);
    else
      known->second += ", " + each.what;
  }
  if (fixed.empty()) return random;
  std::string not_random;
  for (const auto& [why, what] : fixed)
    not_random +=
        fmt::format("{}{}{}", not_random.empty() ? "" : ", ", what,
                    longest_reason == 0 ? "" : fmt::format(" ({})", one_line(why, longest_reason)));
  return fmt::format("{}; not: {}", random.empty() ? "nothing" : random, not_random);
}

std::string quiet_text(const Quietness& quietness) {
  std::string text;
  const auto add = [&](std::string_view label, const std::string& what) {
    if (!what.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : "; ", label, what);
  };
  add("", quietness.found);
  add("changed for the trials: ", quietness.changed);
  add("not made quiet: ", quietness.loud);
  if (quietness.waits > 0)
    add("",
        fmt::format(
            "trials waited {} time{} for a quiet machine, in total for {}; unsuccessful waits: {}",
            quietness.waits, quietness.waits == 1 ? "" : "s",
            format_duration(std::chrono::milliseconds(quietness.waited_ns / 1'000'000)),
            quietness.waits_in_vain));
  return text;
}

std::string load_numbers(const Load& load) {
  std::string text;
  const auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  if (load.others)
    add(fmt::format("other programs kept {:.2f} CPUs busy on average", *load.others));
  if (load.stolen)
    add(fmt::format("the host took {:.2f} % of the trials' time", 100 * *load.stolen));
  if (load.known > 0)
    add(fmt::format("{} of {} trials waited for their CPU", load.kept_waiting, load.known));
  return text;
}

std::string load_text(const Load& load) {
  const std::string text = load_numbers(load);
  if (!load.is_busy()) return text;
  return text + (text.empty() ? "" : "; ") +
         "warning: the machine was busy, which widens the intervals: see 'stabctl doctor' and the "
         "plan key 'machine.wait_for_quiet'";
}

std::string outputs_text(const std::vector<Outputs>& outputs) {
  if (outputs.empty()) return "";
  constexpr std::size_t most = 3;
  // Outputs that depend on a treatment come first, because they are worse.
  std::vector<const Outputs*> sorted;
  for (const bool depends : {true, false})
    for (const Outputs& each : outputs)
      if (depends_on_level(each) == depends) sorted.push_back(&each);
  std::string text;
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    text += (i == 0 ? "" : "; ") + words_of(*sorted[i]);
  if (sorted.size() > most) text += fmt::format("; and {} more", sorted.size() - most);
  if (depends_on_level(*sorted.front()))
    text += "; warning: levels may not do the same work: see the plan key 'check'";
  if (!depends_on_level(*sorted[std::min(most, sorted.size()) - 1]))
    text += "; if trials of the same cell differ, a difference between levels cannot be seen";
  return text;
}

std::string simulated_text() {
  return "every trial ran under valgrind's cachegrind, so the counts come from a simulated CPU; no "
         "time was measured, and it is not known whether the program is faster";
}

std::string to_text(const Source& source) {
  constexpr std::size_t digits = 8;
  if (source.commit.empty()) return "";
  return fmt::format("{}{}{}", source.branch, source.branch.empty() ? "" : " ",
                     source.commit.substr(0, digits));
}

std::vector<KnownFact> known_facts(const Document& document) {
  std::vector<KnownFact> facts;
  const auto add = [&](std::string label, std::string text, Where where = Where::everywhere) {
    if (!text.empty()) facts.push_back({std::move(label), std::move(text), where});
  };
  // The text report has the state in its first line.
  add("State", document.state + (document.reason.empty() ? "" : ": " + document.reason),
      Where::page);
  add("Reason", document.reason, Where::text);
  add("Trials", trials_text(document));
  add("Relative", relative_text(document));
  add("Stopping", document.stopping ? document.stopping->words : "");
  add("Excluded", document.exclusions ? dependence_text(*document.exclusions) : "");
  add("Random", drawn_text(document.drawn));
  add("Cost", cost_text(document));
  add("Layout", layouts_text(document.layouts));
  add("Simulated", document.simulated ? simulated_text() : "");
  add("Measured", measured_text(document));
  for (const std::string& settings : document.settings) add("Sets", settings);
  add("Source", to_text(document.source));
  add("Compiler", document.compiler);
  // The page has parts of its own for the versions and the machine.
  add("Versions", document.versions, Where::text);
  add("Machine", document.machine, Where::text);
  add("Quiet", quiet_text(document.quietness));
  add("Load", load_text(document.load));
  add("Output", outputs_text(document.outputs));
  if (document.noise)
    add("Noise", noise_text(*document.noise, !document.analysis.spec.control.empty()));
  else if (!document.analysis.calibration)
    add("Noise", "this machine is not calibrated for this response (see plans/calibration.toml)",
        Where::page);
  // The text report has tables of disagreements.
  for (const std::string& each : disagreements(document)) add("Disagree", each, Where::page);
  add("Assumptions", rejected_assumptions(document.analysis, Rejected::all), Where::page);
  add("Seed", fmt::format("{}", document.seed), Where::text);
  add("Database", document.database, Where::text);
  return facts;
}

std::string header(const Document& document, const TextOptions& options) {
  std::string text =
      styled(one_line(document.experiment, 80), Style::bold, options.colour) +
      fmt::format("  (experiment {}, {})\n", document.id, one_line(document.state, 40));
  if (!document.question.empty())
    text += paragraph("", one_line(document.question, longest), options.width);
  text += "\n" + answer_text(document, options) + "\n";
  std::string above;
  for (const KnownFact& each : known_facts(document)) {
    if (each.where == Where::page) continue;
    text += paragraph(fmt::format("  {:<10}", each.label == above ? "" : each.label),
                      one_line(each.text, longest), options.width);
    above = each.label;
  }
  return text + "\n";
}

namespace {

std::string labelled_answer(const std::string& all, const TextOptions& options) {
  std::string text;
  for (const auto sentence : std::views::split(all, '\n')) {
    const std::string line = one_line(std::string_view(sentence), longest);
    text += text.empty() ? labelled("Answer: ", line, options)
                         : paragraph("        ", line, options.width);
  }
  return text;
}

std::string count(std::uint64_t n, std::string_view what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

// "32 of 64 trials have no result: the build failed: ... (sort opt=O3 and 15 more cells)"
std::string failure_sentences(const Document& document) {
  constexpr std::size_t most_causes = 2;
  constexpr std::size_t most_cells = 2;
  const TrialCounts& trials = document.trials;
  const std::uint64_t lost = trials.failed + trials.skipped;
  if (lost == 0 || document.causes.empty()) return "";
  std::string text = fmt::format("{} of {} {}", lost, count(trials.planned, "trial"),
                                 lost == 1 ? "has no result" : "have no result");
  for (std::size_t i = 0; i < std::min(most_causes, document.causes.size()); ++i) {
    const FailureCause& cause = document.causes[i];
    std::vector<std::string> cells(cause.cells.begin(), cause.cells.end());
    const std::size_t more = cells.size() - std::min(cells.size(), most_cells);
    cells.resize(cells.size() - more);
    text += fmt::format("{} {} ({}{}{})", i == 0 ? ":" : ";", one_line(cause.why, 160),
                        document.causes.size() > 1 ? count(cause.trials, "trial") + " of " : "",
                        fmt::join(cells, ", "), more > 0 ? " and " + count(more, "more cell") : "");
  }
  if (document.causes.size() > most_causes)
    text += fmt::format("; and {} more", count(document.causes.size() - most_causes, "cause"));
  return text;
}

bool is_under_way(const Document& document) {
  return document.state != "done" && document.state != "failed" && document.state != "cancelled" &&
         document.state != "analysing" && !document.state.empty();
}

std::string compared(const Document& document) {
  const TrialCounts& trials = document.trials;
  if (!is_under_way(document) || !document.compares || !document.analysis.effects.empty())
    return answer(document.analysis);
  const std::uint64_t ended = trials.ok + trials.failed + trials.skipped + trials.disturbed;
  return fmt::format(
      "too early to tell: the experiment is {}, and {} of its {} {} ended; each level needs at "
      "least two trials",
      document.state, ended == 0 ? "none" : std::to_string(ended), count(trials.planned, "trial"),
      ended == 1 || ended == 0 ? "has" : "have");
}

std::string profiled(const Document& document) {
  std::string text;
  for (const CausalCell& cell : *document.causal)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", cell.name,
                        cell.analysis ? causal_answer(cell.profile, *cell.analysis) : cell.reason);
  return text.empty() ? "no usable trial was profiled (see the failures)" : text;
}

}  // namespace

std::string answer_of(const Document& document) {
  const std::string text = document.causal ? profiled(document) : compared(document);
  const std::string failed = failure_sentences(document);
  if (failed.empty()) return text;
  // If something is unsure, the failures come first, because they may be the reason.
  return document.findings().unsure ? failed + "\n" + text : text + "\n" + failed;
}

std::string answer_text(const stats::Analysis& analysis, const TextOptions& options) {
  return labelled_answer(answer(analysis), options);
}

std::string answer_text(const Document& document, const TextOptions& options) {
  return labelled_answer(options.answer.empty() ? answer_of(document) : std::string(options.answer),
                         options);
}

}  // namespace stab::report
