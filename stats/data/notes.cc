// SPDX-License-Identifier: MIT
#include "stats/data/notes.h"

#include <fmt/format.h>

#include <algorithm>

namespace stab::stats {

std::string p_words(double p) {
  if (p < 1e-4) return "p < 0.0001";
  return fmt::format("p = {:.3g}", p);
}

std::string count_words(std::size_t n, const std::string& unit) {
  if (unit.size() < 2) return fmt::format("{} levels of {}", n, unit);
  return fmt::format("{} {}{}", n, unit, n == 1 ? "" : "s");
}

std::string plural(const std::string& unit) {
  return unit.size() < 2 ? "levels of " + unit : unit + "s";
}

void Notes::add(std::string_view subject, std::string sentence) {
  auto entry = std::ranges::find(entries_, sentence, &Entry::sentence);
  if (entry == entries_.end())
    entry = entries_.insert(entry, {.sentence = std::move(sentence), .subjects = {}});
  if (!subject.empty() && std::ranges::find(entry->subjects, subject) == entry->subjects.end())
    entry->subjects.emplace_back(subject);
}

std::vector<std::string> Notes::sentences() const {
  constexpr std::size_t most = 6;
  std::vector<std::string> result;
  for (const Entry& entry : entries_) {
    std::string text;
    for (std::size_t i = 0; i < std::min(most, entry.subjects.size()); ++i)
      text += (i == 0 ? "" : ", ") + entry.subjects[i];
    if (entry.subjects.size() > most)
      text += fmt::format(" and {} more", entry.subjects.size() - most);
    text += (text.empty() ? "" : ": ") + entry.sentence;
    if (text.front() >= 'a' && text.front() <= 'z' && entry.subjects.empty())
      text.front() = static_cast<char>(text.front() - 'a' + 'A');
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace stab::stats
