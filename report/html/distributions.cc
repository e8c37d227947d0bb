// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/html/plots.h"
#include "stats/numbers/order.h"

namespace stab::report::html {
namespace {

using stats::Analysis;
using stats::CellMean;

constexpr double cell_height = 46;

const CellMean* mean_of(const Analysis& analysis, const ShotCell& cell) {
  const auto found = std::ranges::find_if(analysis.means, [&](const CellMean& mean) {
    return mean.subject == cell.subject && mean.levels == cell.levels;
  });
  return found == analysis.means.end() ? nullptr : &*found;
}

// The cell's name without the subject, which is the picture's title.
std::string row_name(const ShotCell& cell) {
  return cell.name.size() > cell.subject.size() + 1 ? cell.name.substr(cell.subject.size() + 1)
                                                    : cell.name;
}

Table numbers_of(const Analysis& analysis, const Shots& shots, const SubjectShots& subject) {
  Table table{.columns = {{"cell"},
                          {"trials", true},
                          {analysis.spec.log_scale ? "geometric mean" : "mean", true},
                          {level_text(analysis.spec.alpha) + " interval", true},
                          {"5 %", true},
                          {"25 %", true},
                          {"median", true},
                          {"75 %", true},
                          {"95 %", true}}};
  for (const CellShots& each : subject.cells) {
    const ShotCell& cell = shots.cells[each.number];
    const CellMean* mean = mean_of(analysis, cell);
    std::vector<std::string> row{cell.name, fmt::format("{}", mean ? mean->n : cell.ok),
                                 mean ? quantity(mean->mean, subject.scale) : "-",
                                 mean && mean->low && mean->high
                                     ? fmt::format("{} to {}", number(*mean->low, subject.scale),
                                                   quantity(*mean->high, subject.scale))
                                     : "-"};
    for (const double share : {0.05, 0.25, 0.5, 0.75, 0.95})
      row.push_back(each.values.empty()
                        ? "-"
                        : quantity(stats::sorted_quantile(each.values, share), subject.scale));
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Moves each dot up or down so that dots of equal numbers do not cover each other. The moves follow
// no order, or they would look like a trend.
double jitter(std::size_t index) {
  return static_cast<double>(index * 5 % 11) * 1.2 - 6;
}

class DistributionPicture {
 public:
  DistributionPicture(const Analysis& analysis, const Shots& shots, const SubjectShots& subject,
                      bool dots)
      : analysis_(analysis),
        shots_(shots),
        subject_(subject),
        dots_(dots),
        shown_(std::min(subject.cells.size(), most_lines)),
        bottom_(rows_top + cell_height * static_cast<double>(shown_)),
        axis_(range().padded(), 14, width - 14),
        canvas_(bottom_ + 38, "Trials of each cell of " + subject.subject) {}

  Markup draw() {
    canvas_.horizontal(axis_, rows_top, bottom_, axis_title(analysis_.spec, subject_.scale));
    for (std::size_t i = 0; i < shown_; ++i)
      draw_cell(subject_.cells[i], rows_top + cell_height * static_cast<double>(i));
    if (dots_) draw_dots();
    for (std::size_t i = 0; i < shown_; ++i)
      draw_mean(subject_.cells[i], rows_top + cell_height * static_cast<double>(i));
    return canvas_.finish();
  }

 private:
  [[nodiscard]] double place(double value) const {
    return axis_.place(value / subject_.scale.factor);
  }

  [[nodiscard]] Range range() const {
    Range found;
    const auto include = [&](double value) { found.include(value / subject_.scale.factor); };
    for (const CellShots& each : std::span(subject_.cells).first(shown_)) {
      if (each.values.empty()) continue;
      include(dots_ ? each.values.front() : stats::sorted_quantile(each.values, 0.01));
      include(dots_ ? each.values.back() : stats::sorted_quantile(each.values, 0.99));
      if (const CellMean* mean = mean_of(analysis_, shots_.cells[each.number])) {
        include(mean->low.value_or(mean->mean));
        include(mean->high.value_or(mean->mean));
      }
    }
    return found;
  }

  void draw_cell(const CellShots& each, double y) {
    // The label has one line, so all rows have the same height.
    canvas_.rectangle(0, y, width, label_line + 2, "back");
    canvas_.name(4, y + 13, row_name(shots_.cells[each.number]), label_letters, "strong");
    if (dots_ || each.values.empty()) return;
    const auto at = [&](double share) { return place(stats::sorted_quantile(each.values, share)); };
    const std::string colour = colour_class(each.colour);
    const std::string what =
        fmt::format("{}: half of the trials are from {} to {}, and 90 % are from {} to {}",
                    shots_.cells[each.number].name, words(each, 0.25), words(each, 0.75),
                    words(each, 0.05), words(each, 0.95));
    canvas_.line(at(0.01), y + 30, at(0.99), y + 30, colour + " thin");
    canvas_.rectangle(at(0.05), y + 25, at(0.95) - at(0.05), 10, colour + " faint", what);
    canvas_.rectangle(at(0.25), y + 22, at(0.75) - at(0.25), 16, colour + " faint", what);
    canvas_.line(at(0.5), y + 22, at(0.5), y + 38, colour + " thick");
  }

  [[nodiscard]] std::string words(const CellShots& each, double share) const {
    return quantity(stats::sorted_quantile(each.values, share), subject_.scale);
  }

  void draw_dots() {
    std::vector<std::size_t> rows(shots_.cells.size(), shown_);
    for (std::size_t i = 0; i < shown_; ++i) rows[subject_.cells[i].number] = i;
    std::vector<std::size_t> drawn(shown_);
    for (const Shot* shot : subject_.shots) {
      const std::size_t row = rows[shot->cell];
      if (row == shown_ || shot->fate != Fate::ok || !std::isfinite(shot->value)) continue;
      canvas_.dot(place(shot->value),
                  rows_top + cell_height * static_cast<double>(row) + 30 + jitter(drawn[row]++),
                  2.2, colour_class(subject_.cells[row].colour) + " faint",
                  tip(shots_, *shot, subject_.scale));
    }
  }

  void draw_mean(const CellShots& each, double y) {
    const CellMean* mean = mean_of(analysis_, shots_.cells[each.number]);
    if (mean == nullptr || each.values.empty()) return;
    if (mean->low && mean->high)
      canvas_.line(place(*mean->low), y + 30, place(*mean->high), y + 30, "mean");
    canvas_.line(place(mean->mean), y + 20, place(mean->mean), y + 40, "mean");
  }

  const Analysis& analysis_;
  const Shots& shots_;
  const SubjectShots& subject_;
  bool dots_;
  std::size_t shown_;
  double bottom_;
  Axis axis_;
  Canvas canvas_;
};

std::size_t numbers_in(const SubjectShots& subject) {
  std::size_t numbers = 0;
  for (const CellShots& each : subject.cells) numbers += each.values.size();
  return numbers;
}

}  // namespace

std::vector<Figure> distributions(const Analysis& analysis, const Shots& shots,
                                  const std::vector<SubjectShots>& subjects) {
  std::vector<Figure> figures;
  std::size_t all = 0;
  std::size_t dots_left = most_dots;
  for (const SubjectShots& subject : subjects) {
    const std::size_t numbers = numbers_in(subject);
    if (numbers == 0) continue;
    if (++all > most_pictures) continue;
    const bool dots = numbers <= dots_left && numbers <= most_dots / 4;
    if (dots) dots_left -= numbers;
    Figure figure{.title = subject.subject.empty() ? "All trials" : subject.subject};
    if (!dots)
      figure.words = fmt::format(
          "{} trials are too many to draw as dots. The inner band contains 50 % of the trials, the "
          "outer band contains 90 %, and the line contains 98 %.",
          subject.ok);
    if (subject.cells.size() > most_lines)
      figure.words += fmt::format(
          " The picture shows only the first {} of {} cells; the table has the other cells.",
          most_lines, subject.cells.size());
    figure.picture = DistributionPicture(analysis, shots, subject, dots).draw();
    figure.numbers = numbers_of(analysis, shots, subject);
    figures.push_back(std::move(figure));
  }
  if (!figures.empty())
    figures.front().words = pictured_words(figures.size(), all) + figures.front().words;
  return figures;
}

}  // namespace stab::report::html
