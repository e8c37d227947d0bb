// SPDX-License-Identifier: MIT
#include "report/html/groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "report/words/answer.h"

namespace stab::report::html {
namespace {

using Key = std::pair<std::string, std::vector<std::string>>;

std::map<Key, std::size_t> order_of(const std::vector<stats::CellMean>& means) {
  std::map<Key, std::size_t> order;
  for (const stats::CellMean& mean : means)
    order.try_emplace({mean.subject, mean.levels}, order.size());
  return order;
}

// The numbers of the cells in the order of their means; cells without a mean come last, sorted by
// name.
std::vector<std::size_t> ordered_cells(const Shots& shots, const stats::Analysis& analysis) {
  const auto order = order_of(analysis.means);
  std::vector<std::size_t> numbers(shots.cells.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  const auto rank = [&](std::size_t number) {
    const ShotCell& cell = shots.cells[number];
    const auto found = order.find({cell.subject, cell.levels});
    return std::pair(found == order.end() ? order.size() : found->second, cell.name);
  };
  std::ranges::sort(numbers, {}, rank);
  return numbers;
}

Scale scale_of(const SubjectShots& subject, stats::Unit unit) {
  std::vector<stats::CellMean> sizes;
  for (const Shot* shot : subject.shots)
    if (shot->fate != Fate::failed && std::isfinite(shot->value))
      sizes.push_back({.mean = shot->value});
  std::ranges::sort(sizes, {}, &stats::CellMean::mean);
  // Only the middle half counts, so that a single outlier does not choose the unit.
  const auto quarter = static_cast<std::ptrdiff_t>(sizes.size() / 4);
  return scale_for({sizes.begin() + quarter, sizes.end() - quarter}, unit);
}

}  // namespace

std::vector<SubjectShots> by_subject(const Shots& shots, const stats::Analysis& analysis) {
  std::vector<SubjectShots> subjects;
  std::vector<std::pair<std::size_t, std::size_t>> places(shots.cells.size());
  std::map<std::string, std::size_t> known;
  for (const std::size_t number : ordered_cells(shots, analysis)) {
    const std::string& name = shots.cells[number].subject;
    const auto [entry, fresh] = known.try_emplace(name, subjects.size());
    if (fresh) subjects.push_back({.subject = name});
    std::vector<CellShots>& cells = subjects[entry->second].cells;
    places[number] = {entry->second, cells.size()};
    cells.push_back({.number = number, .colour = cells.size()});
    subjects[entry->second].ok += shots.cells[number].ok;
    subjects[entry->second].others += shots.cells[number].others;
  }
  for (const Shot& shot : shots.shots) {
    SubjectShots& subject = subjects[places[shot.cell].first];
    subject.shots.push_back(&shot);
    if (shot.fate == Fate::ok && std::isfinite(shot.value))
      subject.cells[places[shot.cell].second].values.push_back(shot.value);
  }
  for (SubjectShots& subject : subjects) {
    for (CellShots& cell : subject.cells) std::ranges::sort(cell.values);
    subject.scale = scale_of(subject, analysis.spec.unit);
  }
  return subjects;
}

std::string axis_title(const stats::Spec& spec, const Scale& scale) {
  std::string title = response_words(spec);
  const std::string unit = scale.exponent + (scale.unit.empty() ? "" : " " + scale.unit);
  if (!unit.empty()) title += fmt::format(", {}{}", scale.exponent.empty() ? "" : "x 1", unit);
  return title;
}

std::string tip(const Shots& shots, const Shot& shot, const Scale& scale) {
  std::string text =
      fmt::format("trial {}, block {}, {}", shot.position, shot.block, shots.cells[shot.cell].name);
  if (shot.fate == Fate::disturbed) text += ", disturbed";
  if (shot.fate == Fate::failed) text += ", failed";
  return text + ": " + (std::isfinite(shot.value) ? quantity(shot.value, scale) : "no value");
}

std::string kept_words(const Shots& shots) {
  std::string text;
  const auto add = [&](const std::string& sentence) {
    text += (text.empty() ? "" : " ") + sentence;
  };
  const auto add_sample = [&](std::string_view what, std::uint64_t kept, std::uint64_t all) {
    if (kept < all)
      add(fmt::format("The pictures show {} of {} {}, chosen at random with the experiment's seed.",
                      kept, all, what));
  };
  add_sample("numbers", shots.kept_ok, shots.ok);
  add_sample("disturbed and failed attempts", shots.kept_others, shots.others);
  if (shots.left_out > 0)
    add(
        fmt::format("The programs report too many benchmarks, so {} values of the last benchmarks "
                    "are left out.",
                    shots.left_out));
  return text;
}

std::string pictured_words(std::size_t pictures, std::size_t all) {
  return pictures < all ? fmt::format("Only the first {} of {} pictures are shown. ", pictures, all)
                        : "";
}

std::vector<std::size_t> spread_out(std::size_t all, std::size_t count) {
  std::vector<std::size_t> places;
  if (count >= all) count = all;
  for (std::size_t i = 0; i < count; ++i)
    places.push_back(count == 1 ? 0 : i * (all - 1) / (count - 1));
  return places;
}

}  // namespace stab::report::html
