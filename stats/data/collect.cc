// SPDX-License-Identifier: MIT
#include "stats/data/collect.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <unordered_map>

namespace stab::stats {
namespace {

// Collects groups by a mixed-radix key. A small key space is an array, a large one a map.
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
    const auto place_of = [](const Group& group) {
      return std::tuple(group.subject, group.block, group.cell, group.seed);
    };
    direct_ = {};
    hashed_ = {};
    order.resize(groups_.size());
    std::vector<std::uint32_t> places(groups_.size());
    std::iota(places.begin(), places.end(), 0U);
    // Tables often have their rows in this order, and millions of groups are large.
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

}  // namespace

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

Collected collect(const Dataset& data, std::span<const Row> rows, const Views& views,
                  std::uint64_t keys, Prepared& out) {
  std::uint64_t cells = 1;
  for (const View& treatment : views.treatments) cells *= treatment.used;
  Collector collector(keys);
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
  for (const Trial& trial : collected.trials) {
    const std::uint32_t subject = subject_of[trial.group];
    out.subjects[subject].trials.push_back({.y = trial.y, .group = trial.group - first[subject]});
  }
}

}  // namespace stab::stats
