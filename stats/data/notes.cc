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
  auto note = std::ranges::find(notes_, sentence, &Note::sentence);
  if (note == notes_.end())
    note = notes_.insert(note, {.sentence = std::move(sentence), .subjects = {}});
  if (!subject.empty() && std::ranges::find(note->subjects, subject) == note->subjects.end())
    note->subjects.emplace_back(subject);
}

std::vector<std::string> Notes::sentences() const {
  constexpr std::size_t most = 6;
  std::vector<std::string> result;
  for (const Note& note : notes_) {
    std::string text;
    for (std::size_t i = 0; i < std::min(most, note.subjects.size()); ++i)
      text += (i == 0 ? "" : ", ") + note.subjects[i];
    if (note.subjects.size() > most)
      text += fmt::format(" and {} more", note.subjects.size() - most);
    text += (text.empty() ? "" : ": ") + note.sentence;
    if (text.front() >= 'a' && text.front() <= 'z' && note.subjects.empty())
      text.front() = static_cast<char>(text.front() - 'a' + 'A');
    result.push_back(std::move(text));
  }
  return result;
}

}  // namespace stab::stats
