// SPDX-License-Identifier: MIT
#include "report/words/answer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>

#include "base/text.h"
#include "report/sections/sections.h"
#include "report/sections/words.h"
#include "report/words/causal.h"

namespace stab::report {

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
  std::string text = fmt::format("{} of {} {} no result", lost, count(trials.planned, "trial"),
                                 lost == 1 ? "has" : "have");
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
      "least two",
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
  return labelled_answer(answer_of(document), options);
}

}  // namespace stab::report
