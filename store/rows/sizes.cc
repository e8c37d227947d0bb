// SPDX-License-Identifier: MIT
#include "store/rows/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "store/exceptions.h"
#include "store/rows/bounds.h"
#include "store/rows/row.h"

namespace stab::store {
namespace {

constexpr std::int64_t of_numbers = 200;  // for the numbers of any row, and its entries in indexes

std::int64_t bytes_of_plan(const Experiment& experiment) {
  return of_numbers + static_cast<std::int64_t>(experiment.name.size() + experiment.plan.size() +
                                                experiment.directory.size());
}

// The size of the experiment's rows in this table. If they can't be read, they count as 0 bytes;
// that does no harm, because nothing is stored in a damaged file.
std::int64_t count_rows(Connection& connection, const char* table, Id experiment) {
  std::string row = fmt::to_string(of_numbers);
  for (const TextBound& each : text_bounds())
    if (each.table == table)
      row += fmt::format(" + coalesce(length(CAST({} AS BLOB)), 0)", each.column);
  try {
    return connection.number(
        fmt::format("SELECT coalesce(sum({}), 0) FROM {} WHERE experiment = ?", row, table),
        {experiment});
  } catch (const SQLite::Exception& error) {
    if (!is_corrupt(error)) throw;
    return 0;
  }
}

}  // namespace

void Sizes::count_missing(Connection& connection) {
  Sizes sizes;
  sizes.load(connection);
  sizes.write(connection);
}

void Sizes::begin() {
  noted_.clear();
  for (const auto& [experiment, size] : counted_) noted_[experiment] = size;
}

void Sizes::load(Connection& connection) {
  known_.clear();
  counted_.clear();
  std::set<Id> damaged;
  const auto take = [&](const Stored& stored) {
    if (stored.intact)
      known_[stored.id] = {.uid = static_cast<std::uint32_t>(stored.row.integer("uid")),
                           .bytes = stored.row.integer("bytes"),
                           .has_row = true};
    else
      damaged.insert(stored.id);
    return true;
  };
  try {
    connection.scan("size", "", {}, take);
  } catch (const SQLite::Exception& error) {
    if (!is_corrupt(error)) throw;
    connection.scan_apart("size", "", {}, take);
  }
  for (const Id id : connection.ids("experiment", "").ids) {
    if (known_.contains(id)) continue;
    connection.scan_apart("experiment", "WHERE id = ?", {id}, [&](const Stored& stored) {
      // A damaged experiment is refused everywhere, so it needs no size.
      if (!stored.intact) return false;
      const Experiment experiment = to_experiment(stored.row);
      Size size{.uid = experiment.uid,
                .bytes = bytes_of_plan(experiment),
                .has_row = damaged.contains(id)};
      for (const char* table : {"trial", "build", "event"})
        size.bytes += count_rows(connection, table, id);
      counted_[id] = known_[id] = size;
      return false;
    });
  }
  begin();
}

void Sizes::add_experiment(const Experiment& experiment, Id id) {
  noted_[id] = Size{.uid = experiment.uid, .bytes = bytes_of_plan(experiment)};
}

std::int64_t Sizes::bytes_of_row(const Row& row) {
  std::int64_t bytes = of_numbers;
  for (const auto& [column, value] : row.values())
    if (const auto* text = std::get_if<std::string>(&value))
      bytes += static_cast<std::int64_t>(text->size());
  return bytes;
}

void Sizes::add(Id experiment, std::int64_t bytes) {
  auto noted = noted_.find(experiment);
  if (noted == noted_.end()) {
    const auto known = known_.find(experiment);
    if (known == known_.end()) return;  // a damaged experiment
    noted = noted_.emplace(experiment, known->second).first;
  }
  if (noted->second) noted->second->bytes = std::max<std::int64_t>(0, noted->second->bytes + bytes);
}

void Sizes::write(Connection& connection) {
  for (auto& [experiment, size] : noted_) {
    if (!size) {
      connection.remove("size", "WHERE id = ?", {experiment});
      continue;
    }
    Row row;
    row.set("uid", std::int64_t{size->uid});
    row.set("bytes", size->bytes);
    if (std::exchange(size->has_row, true)) {
      connection.update("size", experiment, std::move(row));
    } else {
      row.set("id", experiment);
      connection.insert_as_it_is("size", row);
    }
  }
}

void Sizes::committed() {
  for (const auto& [experiment, size] : noted_) {
    if (size)
      known_[experiment] = *size;
    else
      known_.erase(experiment);
  }
  counted_.clear();
  begin();
}

std::uint64_t Sizes::of_experiment(Id experiment) const {
  const auto known = known_.find(experiment);
  return known == known_.end() ? 0 : static_cast<std::uint64_t>(known->second.bytes);
}

std::uint64_t Sizes::of_users(const std::function<bool(std::uint32_t uid)>& is) const {
  std::uint64_t bytes = 0;
  for (const auto& [experiment, size] : known_)
    if (is(size.uid)) bytes += static_cast<std::uint64_t>(size.bytes);
  return bytes;
}

}  // namespace stab::store
