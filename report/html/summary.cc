// SPDX-License-Identifier: MIT
// The first screen of the page: the question, the answer and how much to trust it.
#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/html/parts.h"
#include "report/sections/sections.h"

namespace stab::report::html {
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
      document.analysis.effects,
      [](const stats::Effect& effect) { return effect.verdict == stats::Verdict::faster; });
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

}  // namespace stab::report::html
