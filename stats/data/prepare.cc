// SPDX-License-Identifier: MIT
#include "stats/data/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <span>
#include <tuple>

#include "stats/data/collect.h"
#include "stats/data/views.h"

namespace stab::stats {
namespace {

std::vector<Row> usable_rows(const Dataset& data, Prepared& out) {
  std::vector<Row> rows;
  rows.reserve(data.response.size());
  std::size_t missing = 0;
  std::size_t not_positive = 0;
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    const double value = data.response[row];
    if (!std::isfinite(value))
      ++missing;
    else if (out.spec.log_scale && value + data.centre <= 0)
      ++not_positive;
    else
      rows.push_back(static_cast<Row>(row));
  }
  if (missing > 0)
    out.notes.add(fmt::format("{} of {} trials have no {} and are left out.", missing,
                              data.response.size(), out.spec.response));
  if (not_positive > 0)
    out.notes.add(fmt::format(
        "{} of {} trials have a {} of zero or less, which has no logarithm, and are left out.",
        not_positive, data.response.size(), out.spec.response));
  if (rows.empty()) out.notes.add("There is no trial that can be analysed.");
  return rows;
}

// Whether sums of squares over all groups stay finite.
bool can_be_squared(std::span<const Group> groups) {
  constexpr double largest_total = 1e300;
  double total = 0;
  for (const Group& group : groups)
    total += group.y.ss + group.y.mean * group.y.mean * static_cast<double>(group.y.n);
  return total < largest_total;  // false for NaN
}

void check_numbers(Prepared& out) {
  Spec& spec = out.spec;
  if (!(spec.alpha > 0 && spec.alpha < 0.5)) {
    out.notes.add(
        fmt::format("An alpha of {} makes no intervals; 0.05 is used instead.", spec.alpha));
    spec.alpha = 0.05;
  }
  if (spec.equivalence && !(*spec.equivalence > 0 && std::isfinite(*spec.equivalence))) {
    out.notes.add(fmt::format("An equivalence margin of {} is not above 0; it is ignored.",
                              *spec.equivalence));
    spec.equivalence.reset();
  }
}

// Seeds are the units where there are some; their trials have no blocks.
void check_columns(Prepared& out) {
  const bool seeds = out.spec.design == Design::nested || out.spec.design == Design::padding_study;
  if (seeds && !out.spec.seed.empty()) out.spec.block.clear();
}

// As far as digits allow; among millions of steps any number would be near a whole one.
bool is_whole(double steps) {
  return std::abs(steps - std::round(steps)) < std::min(0.01, 1e-6 * std::max(1.0, steps));
}

// 0 if there is none, or if the numbers are too many to tell.
double common_step(const Dataset& data, std::span<const Row> rows) {
  constexpr std::size_t most = 64;
  constexpr std::size_t least = 8;
  if (rows.size() < least) return 0;
  std::set<double> seen;
  for (const Row row : rows) {
    seen.insert(data.response[row]);
    if (seen.size() > most) return 0;
  }
  if (seen.size() < 2 || 2 * seen.size() > rows.size()) return 0;
  double step = std::numeric_limits<double>::max();
  for (auto next = std::next(seen.begin()); next != seen.end(); ++next)
    step = std::min(step, *next - *std::prev(next));
  const double first = *seen.begin();
  const bool on_grid =
      std::ranges::all_of(seen, [&](double x) { return is_whole((x - first) / step); });
  // Numbers of the grid themselves: 0.30 and 0.32 may be steps of 0.02, 0.31 and 0.33 are not.
  const double steps = (first + data.centre) / step;
  return on_grid && is_whole(steps) ? step : 0;
}

void set_step(const Dataset& data, std::span<const Row> rows, Prepared& out) {
  const Spec& spec = out.spec;
  out.step = spec.resolution.value_or(0);
  if (spec.resolution || spec.origin != Origin::trial || spec.unit == Unit::bytes) return;
  if (spec.unit == Unit::number && !spec.number_is_measured) return;
  const double step = common_step(data, rows);
  if (spec.unit == Unit::nanoseconds || step != 1) out.step = step;
}

void count_lost(const Dataset& data, const Views& views, Prepared& out) {
  const auto is_known = [](const View& view, std::size_t row) {
    return view.column == nullptr || view.code(row) != unused;
  };
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    if (std::isfinite(data.response[row]) || !is_known(views.subject, row)) continue;
    if (!std::ranges::all_of(views.treatments, [&](const View& v) { return is_known(v, row); }))
      continue;
    const Group place = views.place(row);
    ++out.lost[{place.subject, place.cell}];
  }
}

void set_looks(Prepared& out) {
  if (!out.spec.looks) return;
  auto repeated = Repeated::at(*out.spec.looks);
  if (repeated)
    out.repeated = std::move(*repeated);
  else
    out.notes.add("The looks are not accounted for: " + repeated.error().message + ".");
}

}  // namespace

double Scale::back(double value) const {
  return log ? origin * std::exp(value) : value + origin;
}

std::optional<double> Prepared::p(std::optional<double> p) const {
  return p && repeated ? repeated->p(*p) : p;
}

std::size_t Prepared::cells() const {
  std::size_t cells = 1;
  for (const Treatment& treatment : treatments) cells *= treatment.levels.size();
  return cells;
}

std::vector<std::size_t> Prepared::levels_of(std::size_t cell) const {
  std::vector<std::size_t> levels(treatments.size());
  for (std::size_t i = treatments.size(); i-- > 0;) {
    levels[i] = cell % treatments[i].levels.size();
    cell /= treatments[i].levels.size();
  }
  return levels;
}

std::vector<std::size_t> Prepared::active() const {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < treatments.size(); ++i)
    if (treatments[i].levels.size() > 1) result.push_back(i);
  return result;
}

Prepared prepare(const Dataset& data, const Spec& spec) {
  Prepared out;
  out.spec = spec;
  check_numbers(out);
  check_columns(out);
  set_looks(out);
  if (!data.is_valid()) {
    out.notes.add("The columns of the data do not fit together; nothing is analysed.");
    return out;
  }
  const std::vector<Row> rows = usable_rows(data, out);
  if (rows.empty()) return out;
  const double first = data.response[rows.front()];
  out.scale = {
      .log = spec.log_scale, .origin = first + data.centre, .centre = data.centre, .first = first};
  const Views views = make_views(data, rows, out);
  set_step(data, rows, out);
  if (rows.size() < data.response.size()) count_lost(data, views, out);
  const auto keys = key_space(views);
  if (!keys) {
    out.notes.add("The columns have more combinations of levels than can be analysed.");
    return out;
  }
  const std::vector<std::string> names = used_levels(views.subject);
  out.seeds = used_levels(views.seed);
  if (out.spec.order_drawn) out.blocks = used_levels(views.block);
  Collected collected = collect(data, rows, views, *keys, out);
  if (!can_be_squared(collected.groups)) {
    out.notes.add(fmt::format("The numbers of {} are too large or too far apart to be squared.",
                              out.spec.response));
    return out;
  }
  distribute(std::move(collected), names, out);
  return out;
}

std::vector<Group> by_cell(const Subject& subject) {
  std::vector<Group> cells = subject.groups;
  std::ranges::sort(cells, {}, [](const Group& group) {
    return std::tuple(group.cell, group.block, group.seed);
  });
  std::size_t last = 0;
  for (std::size_t i = 1; i < cells.size(); ++i) {
    if (cells[i].cell == cells[last].cell) {
      cells[last].y.merge(cells[i].y);
      cells[last].raw.merge(cells[i].raw);
    } else {
      cells[++last] = cells[i];
    }
  }
  cells.resize(last + 1);
  return cells;
}

}  // namespace stab::stats
