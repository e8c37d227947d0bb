// SPDX-License-Identifier: MIT
#include "stats/data/prepare_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "stats/data/dataset.h"
#include "stats/data/terms.h"

namespace stab::stats {
namespace {

// Rows are counted in 32 bits, like levels.
using Row = std::uint32_t;

constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();

// A column as the model sees it. An absent column has a single level.
struct View {
  const Column* column = nullptr;
  std::vector<std::uint32_t> map;  // level -> its number among the levels that have data
  std::uint32_t used = 1;

  [[nodiscard]] std::uint32_t code(std::size_t row) const {
    return column == nullptr ? 0 : map[column->codes[row]];
  }
};

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

void note_unused_levels(const View& view, const std::string& prefix, Notes& notes) {
  for (std::size_t i = 0; i < view.map.size(); ++i)
    if (view.map[i] == unused)
      notes.add(prefix + view.column->levels[i],
                "left out, because it has no trial that can be analyzed.");
}

const Column* find_or_note(const Dataset& data, std::string& name, Notes& notes) {
  if (name.empty()) return nullptr;
  const Column* column = data.find(name);
  if (column == nullptr) {
    notes.add(fmt::format("The data has no column {}, so the model leaves it out.", name));
    name.clear();
  }
  return column;
}

// Returns the names of the levels that have data, in their order.
std::vector<std::string> used_levels(const View& view) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < view.map.size(); ++i)
    if (view.map[i] != unused) names.push_back(view.column->levels[i]);
  return names;
}

// Makes the views of the columns that the spec names. A column that the data lacks is removed from
// the spec, with a note.
Views make_views(const Dataset& data, std::span<const Row> rows, Prepared& out) {
  Spec& spec = out.spec;
  Views views;
  views.subject = view(find_or_note(data, spec.subject, out.notes), rows);
  note_unused_levels(views.subject, "", out.notes);
  if (spec.design == Design::nested || spec.design == Design::padding_study)
    views.seed = view(find_or_note(data, spec.seed, out.notes), rows);
  else
    views.block = view(find_or_note(data, spec.block, out.notes), rows);
  std::vector<std::string> found;
  for (std::string name : spec.treatments) {
    const Column* column = find_or_note(data, name, out.notes);
    if (column == nullptr) continue;
    if (found.size() == most_treatments) {
      out.notes.add(
          fmt::format("The treatment {} is left out, because at most {} treatments can be crossed.",
                      name, most_treatments));
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

// Rows that were sorted into groups in one pass.
struct Collected {
  std::vector<Group> groups;
  std::vector<Trial> trials;  // their groups are indices into `groups`
};

// Collects groups by a mixed-radix key, in an array if the key space is small, otherwise in a map.
class Collector {
 public:
  // Room for the largest possible number of groups costs nothing while it is not used.
  Collector(std::uint64_t keys, std::size_t rows)
      : direct_(keys <= direct_limit ? keys : 0, unused) {
    groups_.reserve(std::min<std::uint64_t>(keys, rows));
  }

  // Returns the place of the key's group, in the order in which groups first appear.
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

  // `order[place]` is the new place of a group.
  std::vector<Group> sorted(std::vector<std::uint32_t>& order) && {
    const auto place_of = [](const Group& group) {
      return std::tuple(group.subject, group.block, group.cell, group.seed);
    };
    direct_ = {};
    hashed_ = {};
    order.resize(groups_.size());
    std::vector<std::uint32_t> places(groups_.size());
    std::iota(places.begin(), places.end(), 0U);
    // Tables often have their rows in this order already, and sorting millions of groups takes
    // long.
    if (std::ranges::is_sorted(groups_, {}, place_of)) {
      order = std::move(places);
      return std::move(groups_);
    }
    std::ranges::sort(places, {}, [&](std::uint32_t place) { return place_of(groups_[place]); });
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

// The number of keys, or nothing if 64 bits can't number them.
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

// `keys` is the result of key_space(). Also sets `noise`.
Collected collect(const Dataset& data, std::span<const Row> rows, const Views& views,
                  std::uint64_t keys, Prepared& out) {
  std::uint64_t cells = 1;
  for (const View& treatment : views.treatments) cells *= treatment.used;
  Collector collector(keys, rows.size());
  Collected result;
  result.trials.reserve(rows.size());
  double largest = 0;
  std::vector<std::uint32_t> rank(views.block.used, unused);
  std::uint32_t blocks = 0;
  bool rising = true;
  for (const Row row : rows) {
    const Group place = views.place(row);
    if (rank[place.block] == unused) {
      rising = rising && place.block == blocks;
      rank[place.block] = blocks++;
    }
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
  if (out.spec.in_order && !rising) out.block_rank = std::move(rank);
  std::vector<std::uint32_t> order;
  result.groups = std::move(collector).sorted(order);
  for (Trial& trial : result.trials) trial.group = order[trial.group];
  return result;
}

// Moves groups and trials to their subjects. `names` are the names of the subjects, or empty.
void distribute(Collected collected, const std::vector<std::string>& names, Prepared& out) {
  const auto other = [&](const Group& group) {
    return group.subject != collected.groups.front().subject;
  };
  if (!collected.groups.empty() && std::ranges::none_of(collected.groups, other)) {
    const std::uint32_t subject = collected.groups.front().subject;
    out.subjects.push_back({.name = names.empty() ? "" : names[subject],
                            .groups = std::move(collected.groups),
                            .trials = std::move(collected.trials)});
    return;
  }
  std::vector<std::uint32_t> first;  // each subject's first group
  std::vector<std::uint32_t> subject_of;
  for (const Group& group : collected.groups) {
    if (out.subjects.empty() || out.subjects.back().groups.front().subject != group.subject) {
      out.subjects.push_back({.name = names.empty() ? "" : names[group.subject]});
      first.push_back(static_cast<std::uint32_t>(subject_of.size()));
    }
    out.subjects.back().groups.push_back(group);
    subject_of.push_back(static_cast<std::uint32_t>(out.subjects.size() - 1));
  }
  for (const Trial& trial : collected.trials) {
    const std::uint32_t subject = subject_of[trial.group];
    out.subjects[subject].trials.push_back({.y = trial.y, .group = trial.group - first[subject]});
  }
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
    out.notes.add(
        fmt::format("{} of {} trials have a {} of zero or less. They are left out, because such a "
                    "value has no logarithm.",
                    not_positive, data.response.size(), out.spec.response));
  if (rows.empty()) out.notes.add("No trial can be analyzed.");
  return rows;
}

// Returns whether sums of squares over all groups stay finite.
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
    out.notes.add(fmt::format(
        "Intervals can't be computed for an alpha of {}; 0.05 is used instead.", spec.alpha));
    spec.alpha = 0.05;
  }
  if (spec.equivalence && !(*spec.equivalence > 0 && std::isfinite(*spec.equivalence))) {
    out.notes.add(fmt::format("The equivalence margin {} is not above 0, so it is ignored.",
                              *spec.equivalence));
    spec.equivalence.reset();
  }
}

// If there are seeds, they are the units, and their trials have no blocks.
void check_columns(Prepared& out) {
  const bool seeds = out.spec.design == Design::nested || out.spec.design == Design::padding_study;
  if (seeds && !out.spec.seed.empty()) out.spec.block.clear();
}

// Returns whether the number is whole, as far as its digits can tell: among millions of steps, any
// number would be near a whole one.
bool is_whole(double steps) {
  return std::abs(steps - std::round(steps)) < std::min(0.01, 1e-6 * std::max(1.0, steps));
}

// Returns the step of the numbers, or 0 if they have no step or too many different values to tell.
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
  // The numbers themselves must be multiples of the step: 0.30 and 0.32 may be steps of 0.02, but
  // 0.31 and 0.33 are not.
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

// Converts a number of the response to the model's scale. Infinite numbers and those without a
// logarithm become the ends of the scale.
double on_scale(const Prepared& out, double number) {
  if (std::isinf(number)) return number;
  if (out.spec.log_scale && number <= 0) return -std::numeric_limits<double>::infinity();
  return out.scale.to(number - out.scale.centre);
}

void set_lost(const Dataset& data, const Views& views, bool all_measured, Prepared& out) {
  constexpr double endless = std::numeric_limits<double>::infinity();
  const Spec& spec = out.spec;
  // Times and bytes are never below 0, and neither are numbers that have a logarithm.
  const double floor = spec.log_scale || spec.unit != Unit::number ? 0 : -endless;
  const double least = std::max(floor, spec.lost_at_least.value_or(-endless));
  out.lists_lost = data.lists_lost;
  out.least = on_scale(out, least);
  out.most = std::max(out.least, on_scale(out, spec.lost_at_most.value_or(endless)));
  const auto code_of = [](const View& view, std::uint32_t code) {
    return view.column == nullptr ? 0 : view.map[code];
  };
  // A block or a seed without any other trial has no code yet.
  const auto unit_of = [&](const View& view, std::uint32_t code) {
    const std::uint32_t own = code_of(view, code);
    return own == unused ? view.used + code : own;
  };
  const auto add = [&](const auto& code_in, double low, double high, bool excluded) {
    LostTrial trial{.low = low, .high = std::max(low, high), .excluded = excluded};
    trial.subject = code_of(views.subject, code_in(views.subject));
    if (trial.subject == unused) return;
    for (const View& treatment : views.treatments) {
      const std::uint32_t level = code_of(treatment, code_in(treatment));
      if (level == unused) return;
      trial.cell = trial.cell * treatment.used + level;
    }
    trial.block = unit_of(views.block, code_in(views.block));
    trial.seed = unit_of(views.seed, code_in(views.seed));
    out.lost.push_back(trial);
  };
  for (std::size_t row = 0; !all_measured && row < data.response.size(); ++row) {
    const auto code_in = [&](const View& view) {
      return view.column == nullptr ? 0 : view.column->codes[row];
    };
    if (!std::isfinite(data.response[row]))
      add(code_in, out.least, out.most, false);
    else if (spec.log_scale && data.response[row] + data.centre <= 0)
      add(code_in, -endless, -endless, false);
  }
  for (const Lost& each : data.lost) {
    double low = std::max(floor, each.at_least);
    double high = each.at_most;
    // The spec's bounds hold, too, unless the trial's own bounds contradict them. Excluded trials
    // have the bounds of their cell.
    if (!each.excluded) {
      if (least <= high) low = std::max(low, least);
      if (spec.lost_at_most && *spec.lost_at_most >= low) high = std::min(high, *spec.lost_at_most);
    }
    add(
        [&](const View& view) {
          return view.column == nullptr
                     ? 0
                     : each.codes[static_cast<std::size_t>(view.column - data.columns.data())];
        },
        on_scale(out, low), on_scale(out, high), each.excluded);
  }
}

void set_looks(Prepared& out) {
  if (!out.spec.looks) return;
  auto repeated = Repeated::at(*out.spec.looks);
  if (repeated)
    out.repeated = std::move(*repeated);
  else
    out.notes.add("The analysis is not corrected for looking at the data several times: " +
                  repeated.error().message + ".");
}

// Blocks of two machines are different blocks: each pair of a machine and a block gets a name of
// its own. Blocks of a machine keep their order.
std::optional<Dataset> with_blocks_of_machines(const Dataset& data, const Spec& spec) {
  const Column* const block = data.find(spec.block);
  const Column* const machine = data.find(spec.subject);
  if (block == nullptr || machine == nullptr || block == machine) return std::nullopt;
  using Pair = std::pair<std::uint32_t, std::uint32_t>;
  std::map<Pair, std::uint32_t> codes;
  for (std::size_t row = 0; row < block->codes.size(); ++row)
    codes.try_emplace({machine->codes[row], block->codes[row]});
  const auto place_of = [&](const Column* column) {
    return static_cast<std::size_t>(column - data.columns.data());
  };
  const auto pair_of = [&](const Lost& trial) {
    return Pair{trial.codes[place_of(machine)], trial.codes[place_of(block)]};
  };
  for (const Lost& trial : data.lost) codes.try_emplace(pair_of(trial));
  Dataset nested = data;
  Column& own = nested.columns[place_of(block)];
  own.levels.clear();
  for (auto& [pair, code] : codes) {
    code = static_cast<std::uint32_t>(own.levels.size());
    own.levels.push_back(
        fmt::format("{} of {}", block->levels[pair.second], machine->levels[pair.first]));
  }
  for (std::size_t row = 0; row < own.codes.size(); ++row)
    own.codes[row] = codes.at({machine->codes[row], block->codes[row]});
  for (std::size_t i = 0; i < data.lost.size(); ++i)
    nested.lost[i].codes[place_of(block)] = codes.at(pair_of(data.lost[i]));
  return nested;
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

namespace {

Prepared prepare_valid(const Dataset& data, Prepared out) {
  const std::vector<Row> rows = usable_rows(data, out);
  if (rows.empty()) return out;
  const double first = data.response[rows.front()];
  out.scale = {.log = out.spec.log_scale,
               .origin = first + data.centre,
               .centre = data.centre,
               .first = first};
  const Views views = make_views(data, rows, out);
  set_step(data, rows, out);
  set_lost(data, views, rows.size() == data.response.size(), out);
  const auto keys = key_space(views);
  if (!keys) {
    out.notes.add("The columns have too many combinations of levels to be analyzed.");
    return out;
  }
  const std::vector<std::string> names = used_levels(views.subject);
  out.seeds = used_levels(views.seed);
  if (out.spec.order_drawn) out.blocks = used_levels(views.block);
  Collected collected = collect(data, rows, views, *keys, out);
  if (!can_be_squared(collected.groups)) {
    out.notes.add(fmt::format("The values of {} are too large or too far apart to be squared.",
                              out.spec.response));
    return out;
  }
  distribute(std::move(collected), names, out);
  return out;
}

}  // namespace

Prepared prepare_data(const Dataset& data, const Spec& spec) {
  Prepared out;
  out.spec = spec;
  check_numbers(out);
  check_columns(out);
  set_looks(out);
  if (!data.is_valid()) {
    out.notes.add("The columns of the data do not match each other, so nothing is analyzed.");
    return out;
  }
  if (spec.machines)
    if (const auto nested = with_blocks_of_machines(data, out.spec))
      return prepare_valid(*nested, std::move(out));
  return prepare_valid(data, std::move(out));
}

const Subject* subject_named(const Prepared& data, const std::string& name) {
  const auto found = std::ranges::find(data.subjects, name, &Subject::name);
  return found == data.subjects.end() ? nullptr : &*found;
}

std::vector<Group> by_cell(const Subject& subject) {
  // A million groups may belong to a few cells, so the groups are not copied.
  std::map<std::uint32_t, Group> cells;
  for (const Group& group : subject.groups) {
    const auto [at, fresh] = cells.try_emplace(group.cell, group);
    if (fresh) continue;
    at->second.y.merge(group.y);
    at->second.raw.merge(group.raw);
  }
  std::vector<Group> result;
  result.reserve(cells.size());
  for (const auto& [cell, group] : cells) result.push_back(group);
  return result;
}

}  // namespace stab::stats
