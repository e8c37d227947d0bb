// SPDX-License-Identifier: MIT
// Groups single trials by subject and cell, and draws them: the trials of each cell, their
// residuals, and the trials in order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "report/html/canvas.h"
#include "report/html/parts.h"
#include "report/words/answer.h"
#include "stats/data/notes.h"
#include "stats/numbers/distribution.h"
#include "stats/numbers/summary.h"

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
  return axis_title(value_words(spec), scale);
}

std::string axis_title(std::string response, const Scale& scale) {
  const std::string unit = scale.exponent + (scale.unit.empty() ? "" : " " + scale.unit);
  if (!unit.empty()) response += fmt::format(", {}{}", scale.exponent.empty() ? "" : "x 1", unit);
  return response;
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
        fmt::format("The programs report too many benchmarks. The last benchmarks, with {} values "
                    "in total, are left out.",
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

namespace {

constexpr double residual_bottom = 260;
constexpr std::size_t most_points = 300;
constexpr std::size_t fewest = 4;

struct Left {
  std::uint32_t cell = 0;
  std::uint32_t block = 0;
  double value = 0;
};
using Group = std::uint32_t Left::*;

std::vector<Left> values_of(const Analysis& analysis, const SubjectShots& subject) {
  std::vector<Left> values;
  for (const Shot* shot : subject.shots) {
    if (shot->fate != Fate::ok || !std::isfinite(shot->value)) continue;
    if (analysis.spec.log_scale && shot->value <= 0) continue;
    const double value =
        analysis.spec.log_scale ? 100 * std::log(shot->value) : shot->value / subject.scale.factor;
    values.push_back({.cell = shot->cell, .block = shot->block, .value = value});
  }
  return values;
}

// Numbers the groups from 0, without gaps. Returns how many there are.
std::size_t number_groups(std::vector<Left>& values, Group group) {
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (Left& each : values)
    each.*group =
        numbers.try_emplace(each.*group, static_cast<std::uint32_t>(numbers.size())).first->second;
  return numbers.size();
}

// Drops each number that is alone in its group: it equals its group's mean, so its residual is
// always 0. Returns whether a number was dropped.
bool drop_lonely(std::vector<Left>& values, Group group) {
  std::map<std::uint32_t, std::size_t> counts;
  for (const Left& each : values) ++counts[each.*group];
  return std::erase_if(values, [&](const Left& each) { return counts[each.*group] == 1; }) > 0;
}

// Subtracts from each value the mean of its group. Returns the largest absolute mean.
double take_means(std::vector<Left>& values, Group group, std::size_t groups) {
  std::vector<double> sums(groups);
  std::vector<double> counts(groups);
  for (const Left& each : values) {
    sums[each.*group] += each.value;
    counts[each.*group] += 1;
  }
  double largest = 0;
  for (std::size_t i = 0; i < groups; ++i) {
    sums[i] /= counts[i];
    largest = std::max(largest, std::abs(sums[i]));
  }
  for (Left& each : values) each.value -= sums[each.*group];
  return largest;
}

// The number of connected parts: two values are connected if they share a cell or a block.
std::size_t parts_of(const std::vector<Left>& values, std::size_t cells, std::size_t blocks) {
  std::vector<std::size_t> above(cells + blocks);
  for (std::size_t i = 0; i < above.size(); ++i) above[i] = i;
  const auto root = [&](std::size_t i) {
    while (above[i] != i) i = above[i] = above[above[i]];
    return i;
  };
  std::size_t parts = cells + blocks;
  for (const Left& each : values) {
    const std::size_t cell = root(each.cell);
    const std::size_t block = root(cells + each.block);
    if (cell == block) continue;
    above[cell] = block;
    --parts;
  }
  return parts;
}

struct Residuals {
  std::vector<double> values;  // ascending
  double sd = 0;               // by the residual degrees of freedom
};

double sum_of_squares(const std::vector<Left>& values) {
  double sum = 0;
  for (const Left& each : values) sum += each.value * each.value;
  return sum;
}

// The least-squares residuals of y ~ cell or y ~ cell + block. Subtracting the means of blocks and
// cells in turns converges to them. Returns nothing if too few values are left, or if they do not
// converge.
std::optional<Residuals> left_over(const Analysis& analysis, const SubjectShots& subject) {
  constexpr int most_turns = 300;
  const bool by_block = !analysis.spec.block.empty();
  std::vector<Left> values = values_of(analysis, subject);
  while (drop_lonely(values, &Left::cell) || (by_block && drop_lonely(values, &Left::block))) {
  }
  if (values.size() < fewest) return std::nullopt;
  const std::size_t cells = number_groups(values, &Left::cell);
  const std::size_t blocks = by_block ? number_groups(values, &Left::block) : 0;
  const std::size_t used = by_block ? cells + blocks - parts_of(values, cells, blocks) : cells;
  if (values.size() <= used) return std::nullopt;
  const auto n = static_cast<double>(values.size());
  const double noise = 1e-12 * std::sqrt(sum_of_squares(values) / n);  // rounding
  bool ended = !by_block;
  take_means(values, &Left::cell, cells);
  for (int turn = 0; turn < most_turns && !ended; ++turn) {
    const double block = take_means(values, &Left::block, blocks);
    const double cell = take_means(values, &Left::cell, cells);
    ended = std::max(block, cell) <= noise + 1e-9 * std::sqrt(sum_of_squares(values) / n);
  }
  Residuals result{.values = {},
                   .sd = std::sqrt(sum_of_squares(values) / (n - static_cast<double>(used)))};
  if (!ended || !std::isfinite(result.sd) || result.sd <= noise) return std::nullopt;
  for (const Left& each : values) result.values.push_back(each.value);
  std::ranges::sort(result.values);
  return result;
}

struct QuantilePoint {
  double normal = 0;
  double value = 0;
};

// Pairs each number with the expected value of the same rank in a normal sample of this size
// (Blom's approximation).
std::vector<QuantilePoint> points_of(const std::vector<double>& sorted) {
  std::vector<QuantilePoint> points;
  const auto n = static_cast<double>(sorted.size());
  for (const std::size_t i : spread_out(sorted.size(), most_points))
    if (const auto z = stats::normal_quantile((static_cast<double>(i) + 0.625) / (n + 0.25)))
      points.push_back({.normal = *z, .value = sorted[i]});
  return points;
}

// The standard deviation of the residuals as drawn. It is smaller than the model's, because the
// means are fitted to the values. Normally distributed residuals lie on a line of this slope.
double spread_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

Markup draw(const std::vector<QuantilePoint>& points, double slope, const std::string& title,
            const std::string& label) {
  Range across;
  Range up;
  for (const QuantilePoint& each : points) {
    across.include(each.normal);
    up.include(each.value);
    up.include(slope * each.normal);
  }
  const Axis x(across.padded(), plot_left, width - 10);
  const Axis y(up.padded(), residual_bottom, plot_top);
  Canvas canvas(residual_bottom + 40, label);
  canvas.vertical(y, plot_left, width - 10, title);
  canvas.horizontal(x, plot_top, residual_bottom, "normal distribution, standard deviations");
  canvas.line(x.place(across.low), y.place(slope * across.low), x.place(across.high),
              y.place(slope * across.high), "guide");
  for (const QuantilePoint& each : points)
    canvas.dot(x.place(each.normal), y.place(each.value), 2.4, "c0 faint",
               fmt::format("{:.3g} at {:.3g} standard deviations", each.value, each.normal));
  return canvas.finish();
}

std::string tests_of(const Analysis& analysis, const std::string& subject) {
  std::string words;
  for (const stats::Assumption& each : analysis.assumptions)
    if (each.property == stats::Property::normality && each.subject == subject)
      words += fmt::format(" {} of the {}: {}, {}.", each.test, each.of, stats::p_words(each.p),
                           each.holds ? "holds" : "rejected");
  return words;
}

Figure figure_of(const Analysis& analysis, const SubjectShots& subject, const Residuals& rest) {
  const std::vector<QuantilePoint> points = points_of(rest.values);
  const std::string unit =
      analysis.spec.log_scale ? "%, of logarithms" : axis_title(analysis.spec, subject.scale);
  Figure figure{.title = subject.subject.empty() ? "Residuals" : subject.subject};
  figure.words =
      fmt::format("Standard deviation {:.3g}{}.{}", rest.sd, analysis.spec.log_scale ? " %" : "",
                  tests_of(analysis, subject.subject));
  if (points.size() < rest.values.size())
    figure.words += fmt::format(" {} of {} values are shown, evenly spaced.", points.size(),
                                rest.values.size());
  figure.picture = draw(points, spread_of(rest.values), unit,
                        "Residuals of " + subject.subject + " against normal");
  figure.numbers = {
      .columns = {{"standard deviations of a normal", true}, {"residual, " + unit, true}}};
  for (const QuantilePoint& each : points)
    figure.numbers.rows.push_back(
        {fmt::format("{:.3f}", each.normal), fmt::format("{:.4g}", each.value)});
  return figure;
}

// Why there are no pictures; "" if there may be.
std::string why_none(const Analysis& analysis, const Shots& shots) {
  if (!analysis.spec.seed.empty())
    return "The residuals are not shown, because the model includes seeds: a residual of this "
           "model is not simply a value minus its cell mean.";
  if (shots.kept_ok < shots.ok)
    return "The residuals are not shown, because this page contains only a sample of the values. "
           "The block means of a sample differ from the block means of the model.";
  return "";
}

}  // namespace

std::vector<Figure> residuals(const Analysis& analysis, const Shots& shots,
                              const std::vector<SubjectShots>& subjects) {
  std::vector<Figure> figures;
  if (!why_none(analysis, shots).empty()) return figures;
  std::size_t all = 0;
  for (const SubjectShots& subject : subjects) {
    const auto rest = left_over(analysis, subject);
    if (!rest) continue;
    if (++all <= most_pictures) figures.push_back(figure_of(analysis, subject, *rest));
  }
  if (!figures.empty())
    figures.front().words = pictured_words(figures.size(), all) + figures.front().words;
  return figures;
}

Markup residual_part(const Analysis& analysis, const Shots& shots,
                     const std::vector<SubjectShots>& subjects) {
  constexpr const char* title = "Residuals against a normal distribution";
  Markup markup;
  if (shots.shots.empty()) return markup;
  if (const std::string why = why_none(analysis, shots); !why.empty())
    return markup.open("section", {{"id", "residuals"}})
        .leaf("h2", title)
        .leaf("p", why, {{"class", "words"}})
        .close();
  return section(
      "residuals", title,
      fmt::format("A residual is the difference between a value and {}. A value is left out if "
                  "there are no other values to "
                  "average it with. Normally distributed residuals lie on the straight line.",
                  analysis.spec.block.empty()
                      ? "the mean of its cell"
                      : "the value expected from the means of its cell and its block"),
      residuals(analysis, shots, subjects));
}

namespace {

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
