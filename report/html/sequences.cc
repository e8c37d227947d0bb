// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"

namespace stab::report::html {
namespace {

using stats::Analysis;

constexpr std::size_t most_shaded = 80;

// The first and the last position of each block, over all subjects.
std::map<std::uint32_t, Range> blocks_of(const Shots& shots) {
  std::map<std::uint32_t, Range> blocks;
  for (const Shot& shot : shots.shots) blocks[shot.block].include(shot.position);
  return blocks;
}

std::string_view fate_word(Fate fate) {
  switch (fate) {
    case Fate::ok:
      return "ok";
    case Fate::disturbed:
      return "disturbed";
    case Fate::failed:
      return "failed";
  }
  return "failed";
}

// Chooses at most `most` shots in equal steps. At most a quarter of the room is for shots that are
// not ok.
std::vector<const Shot*> chosen(const SubjectShots& subject, std::size_t most) {
  std::vector<const Shot*> ok;
  std::vector<const Shot*> others;
  for (const Shot* shot : subject.shots) (shot->fate == Fate::ok ? ok : others).push_back(shot);
  std::vector<const Shot*> result;
  for (const std::size_t i : spread_out(others.size(), most / 4)) result.push_back(others[i]);
  for (const std::size_t i : spread_out(ok.size(), most - result.size())) result.push_back(ok[i]);
  std::ranges::sort(result, {}, [](const Shot* shot) {
    return std::tuple(shot->position, shot->attempt, shot->cell);
  });
  return result;
}

class SequencePicture {
 public:
  SequencePicture(const Analysis& analysis, const Shots& shots, const SubjectShots& subject,
                  const std::vector<const Shot*>& drawn)
      : analysis_(analysis),
        shots_(shots),
        subject_(subject),
        drawn_(drawn),
        blocks_(blocks_of(shots)),
        across_(positions().padded(), plot_left, width - 10),
        up_(values().padded(), plot_bottom, plot_top),
        canvas_(plot_bottom + 40, "Trials of " + subject.subject + " in order") {}

  Markup draw() {
    shade_blocks();
    if (!values().empty)
      canvas_.vertical(up_, plot_left, width - 10, axis_title(analysis_.spec, subject_.scale));
    canvas_.horizontal(across_, plot_bottom, plot_bottom + 3, "position of the trial");
    std::map<std::uint32_t, std::size_t> colours;
    for (const CellShots& each : subject_.cells)
      colours[static_cast<std::uint32_t>(each.number)] = each.colour;
    for (const Shot* shot : drawn_) draw_shot(*shot, colour_class(colours[shot->cell]));
    return canvas_.finish();
  }

 private:
  [[nodiscard]] Range positions() const {
    Range range;
    for (const auto& [block, positions] : blocks_) {
      range.include(positions.low);
      range.include(positions.high);
    }
    return range;
  }
  [[nodiscard]] Range values() const {
    Range range;
    for (const Shot* shot : drawn_)
      if (shot->fate != Fate::failed) range.include(shot->value / subject_.scale.factor);
    return range;
  }

  void shade_blocks() {
    if (blocks_.size() > most_shaded) return;
    for (const auto& [block, positions] : blocks_)
      if (block % 2 == 1)
        canvas_.rectangle(across_.place(positions.low - 0.5), plot_top,
                          across_.place(positions.high + 0.5) - across_.place(positions.low - 0.5),
                          plot_bottom - plot_top, "shade", fmt::format("block {}", block));
  }

  void draw_shot(const Shot& shot, const std::string& colour) {
    const double x = across_.place(shot.position);
    const std::string what = tip(shots_, shot, subject_.scale);
    // The time until a trial failed can't be compared with other times, so the cross stands at the
    // edge.
    if (shot.fate == Fate::failed || !std::isfinite(shot.value))
      return canvas_.cross(x, plot_bottom - 6, "failed", what);
    const double y = up_.place(shot.value / subject_.scale.factor);
    canvas_.dot(x, y, shot.fate == Fate::ok ? 2.4 : 3.2,
                colour + (shot.fate == Fate::ok ? " faint" : " hollow"), what);
  }

  const Analysis& analysis_;
  const Shots& shots_;
  const SubjectShots& subject_;
  const std::vector<const Shot*>& drawn_;
  std::map<std::uint32_t, Range> blocks_;
  Axis across_;
  Axis up_;
  Canvas canvas_;
};

Table numbers_of(const Shots& shots, const SubjectShots& subject,
                 const std::vector<const Shot*>& drawn) {
  Table table{.columns = {{"position", true},
                          {"attempt", true},
                          {"block", true},
                          {"cell"},
                          {"number", true},
                          {"ended"}}};
  for (const Shot* shot : drawn)
    table.rows.push_back({fmt::format("{}", shot->position), fmt::format("{}", shot->attempt),
                          fmt::format("{}", shot->block), shots.cells[shot->cell].name,
                          std::isfinite(shot->value) ? quantity(shot->value, subject.scale) : "-",
                          std::string(fate_word(shot->fate))});
  return table;
}

std::string words_of(const SubjectShots& subject, std::size_t drawn) {
  std::string words;
  if (const std::uint64_t all = subject.ok + subject.others; drawn < all)
    words = fmt::format("{} of {} trials. ", drawn, all);
  if (std::ranges::any_of(subject.shots, [](const Shot* s) { return s->fate == Fate::disturbed; }))
    words += "Rings mark disturbed attempts. ";
  if (std::ranges::any_of(subject.shots, [](const Shot* s) { return s->fate == Fate::failed; }))
    words += "Crosses at the lower edge mark failed attempts at a trial. ";
  return words;
}

}  // namespace

std::vector<Figure> sequences(const Analysis& analysis, const Shots& shots,
                              const std::vector<SubjectShots>& subjects) {
  std::vector<Figure> figures;
  std::size_t all = 0;
  const std::size_t pictures = std::clamp<std::size_t>(subjects.size(), 1, most_pictures);
  for (const SubjectShots& subject : subjects) {
    if (subject.shots.empty()) continue;
    if (++all > most_pictures) continue;
    const std::vector<const Shot*> drawn = chosen(subject, most_dots / pictures);
    Figure figure{.title = subject.subject.empty() ? "All trials" : subject.subject};
    figure.words = words_of(subject, drawn.size());
    figure.picture = SequencePicture(analysis, shots, subject, drawn).draw();
    if (subject.cells.size() <= colours)
      for (const CellShots& each : subject.cells)
        figure.legend.push_back(shots.cells[each.number].name);
    figure.numbers = numbers_of(shots, subject, drawn);
    figures.push_back(std::move(figure));
  }
  if (!figures.empty())
    figures.front().words = pictured_words(figures.size(), all) + figures.front().words;
  return figures;
}

}  // namespace stab::report::html
