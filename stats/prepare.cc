// SPDX-License-Identifier: MIT
#include "stats/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <unordered_map>

#include "stats/terms.h"

namespace stab::stats {
namespace {

// Rows are counted in 32 bits, as levels are.
using Row = std::uint32_t;

// A column as seen by the model: absent ones have a single level.
struct View {
  const Column* column = nullptr;
  std::vector<std::uint32_t> map;  // level -> its number among the levels that have data
  std::uint32_t used = 1;

  [[nodiscard]] std::uint32_t code(std::size_t row) const {
    return column == nullptr ? 0 : map[column->codes[row]];
  }
};

constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();

View view(const Column* column, std::span<const Row> rows) {
  View result{.column = column, .map = {}};
  if (column == nullptr) return result;
  result.map.assign(column->levels.size(), unused);
  for (const Row row : rows) result.map[column->codes[row]] = 0;
  result.used = 0;
  for (std::uint32_t& code : result.map)
    if (code != unused) code = result.used++;
  return result;
}

std::vector<std::string> used_levels(const View& view) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < view.map.size(); ++i)
    if (view.map[i] != unused) names.push_back(view.column->levels[i]);
  return names;
}

void note_unused_levels(const View& view, const std::string& prefix, Notes& notes) {
  for (std::size_t i = 0; i < view.map.size(); ++i)
    if (view.map[i] == unused)
      notes.add(prefix + view.column->levels[i],
                "no trial of it can be analysed, so it is left out.");
}

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

const Column* find_or_note(const Dataset& data, std::string& name, Notes& notes) {
  if (name.empty()) return nullptr;
  const Column* column = data.find(name);
  if (column == nullptr) {
    notes.add(fmt::format("The data has no column {}; it is not in the model.", name));
    name.clear();
  }
  return column;
}

struct Views {
  View subject;
  View block;
  View seed;
  std::vector<View> treatments;

  [[nodiscard]] Group place(std::size_t row) const {
    Group group;
    group.subject = subject.code(row);
    group.block = block.code(row);
    group.seed = seed.code(row);
    for (const View& treatment : treatments)
      group.cell = group.cell * treatment.used + treatment.code(row);
    return group;
  }
};

Views make_views(const Dataset& data, std::span<const Row> rows, Prepared& out) {
  Spec& spec = out.spec;
  Views views;
  views.subject = view(find_or_note(data, spec.subject, out.notes), rows);
  note_unused_levels(views.subject, "", out.notes);
  if (spec.design == Design::nested)
    views.seed = view(find_or_note(data, spec.seed, out.notes), rows);
  else
    views.block = view(find_or_note(data, spec.block, out.notes), rows);
  std::vector<std::string> found;
  for (std::string name : spec.treatments) {
    const Column* column = find_or_note(data, name, out.notes);
    if (column == nullptr) continue;
    if (found.size() == most_treatments) {
      out.notes.add(fmt::format(
          "The treatment {} is left out: {} treatments are the most that can be crossed.", name,
          most_treatments));
      continue;
    }
    views.treatments.push_back(view(column, rows));
    note_unused_levels(views.treatments.back(), name + " ", out.notes);
    out.treatments.push_back({name, used_levels(views.treatments.back())});
    found.push_back(std::move(name));
  }
  spec.treatments = std::move(found);
  return views;
}

// Collects groups by a mixed-radix key; small key spaces are indexed directly.
class Collector {
 public:
  explicit Collector(std::size_t keys) : direct_(keys <= direct_limit ? keys : 0, unused) {}

  // Where the key's group is in the order of coming.
  std::uint32_t at(std::uint64_t key, const Group& fresh) {
    std::uint32_t& place =
        direct_.empty() ? hashed_.try_emplace(key, unused).first->second : direct_[key];
    if (place == unused) {
      place = static_cast<std::uint32_t>(groups_.size());
      groups_.push_back(fresh);
    }
    return place;
  }

  Group& operator[](std::uint32_t place) { return groups_[place]; }

  // `order[place]`: where a group went.
  std::vector<Group> sorted(std::vector<std::uint32_t>& order) && {
    std::vector<std::uint32_t> places(groups_.size());
    std::iota(places.begin(), places.end(), 0U);
    std::ranges::sort(places, {}, [&](std::uint32_t place) {
      const Group& group = groups_[place];
      return std::tuple(group.subject, group.block, group.cell, group.seed);
    });
    order.resize(places.size());
    std::vector<Group> result;
    result.reserve(places.size());
    for (const std::uint32_t place : places) {
      order[place] = static_cast<std::uint32_t>(result.size());
      result.push_back(groups_[place]);
    }
    return result;
  }

 private:
  static constexpr std::size_t direct_limit = std::size_t{1} << 20;
  std::vector<std::uint32_t> direct_;
  std::unordered_map<std::uint64_t, std::uint32_t> hashed_;
  std::vector<Group> groups_;
};

// How many keys there are, or nothing if they cannot be numbered.
std::optional<std::uint64_t> key_space(const Views& views) {
  std::uint64_t keys = 1;
  std::uint64_t cells = 1;
  const auto times = [](std::uint64_t& product, std::uint64_t by) {
    return !__builtin_mul_overflow(product, by, &product);
  };
  for (const View& treatment : views.treatments)
    if (!times(cells, treatment.used)) return std::nullopt;
  if (cells >= unused || !times(keys, views.subject.used) || !times(keys, views.block.used) ||
      !times(keys, views.seed.used) || !times(keys, cells))
    return std::nullopt;
  return keys;
}

struct Collected {
  std::vector<Group> groups;
  std::vector<Trial> trials;  // with the places of their groups in `groups`
};

Collected collect(const Dataset& data, std::span<const Row> rows, const Views& views,
                  std::uint64_t keys, Prepared& out) {
  std::uint64_t cells = 1;
  for (const View& treatment : views.treatments) cells *= treatment.used;
  Collector collector(keys);
  Collected result;
  result.trials.reserve(rows.size());
  double largest = 0;
  for (const Row row : rows) {
    const Group place = views.place(row);
    const std::uint64_t key =
        ((std::uint64_t{place.subject} * views.block.used + place.block) * cells + place.cell) *
            views.seed.used +
        place.seed;
    const std::uint32_t number = collector.at(key, place);
    const double y = out.scale.to(data.response[row]);
    largest = std::max(largest, std::abs(y));
    collector[number].y.add(y);
    collector[number].raw.add(data.response[row]);
    result.trials.push_back({.y = y, .group = number});
  }
  const double rounding = 16 * std::numeric_limits<double>::epsilon() * largest;
  out.noise = rounding * rounding;
  std::vector<std::uint32_t> order;
  result.groups = std::move(collector).sorted(order);
  for (Trial& trial : result.trials) trial.group = order[trial.group];
  return result;
}

// Groups and trials go to their subjects.
void distribute(Collected collected, const std::vector<std::string>& names, Prepared& out) {
  std::vector<std::uint32_t> first;  // of each subject, in all groups
  std::vector<std::uint32_t> subject_of;
  for (const Group& group : collected.groups) {
    if (out.subjects.empty() || out.subjects.back().groups.front().subject != group.subject) {
      out.subjects.push_back({.name = names.empty() ? "" : names[group.subject]});
      first.push_back(static_cast<std::uint32_t>(subject_of.size()));
    }
    out.subjects.back().groups.push_back(group);
    subject_of.push_back(static_cast<std::uint32_t>(out.subjects.size() - 1));
  }
  if (out.subjects.size() == 1) {
    out.subjects.front().trials = std::move(collected.trials);
    return;
  }
  for (const Trial& trial : collected.trials) {
    const std::uint32_t subject = subject_of[trial.group];
    out.subjects[subject].trials.push_back({.y = trial.y, .group = trial.group - first[subject]});
  }
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

}  // namespace

double Scale::to(double response) const {
  const double distance = response - first;
  if (!log) return distance;
  if (std::abs(distance) < origin / 2) return std::log1p(distance / origin);
  return std::log((response + centre) / origin);
}

double Scale::back(double value) const {
  return log ? origin * std::exp(value) : value + origin;
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
  const auto keys = key_space(views);
  if (!keys) {
    out.notes.add("The columns have more combinations of levels than can be analysed.");
    return out;
  }
  const std::vector<std::string> names = used_levels(views.subject);
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
