// SPDX-License-Identifier: MIT
#include "store/rows/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "store/exceptions.h"
#include "store/rows/bounds.h"
#include "store/rows/row.h"

namespace stab::store {
namespace {

// The size of the experiment's rows in this table. If they can't be read, they count as 0 bytes;
// that does no harm, because nothing is stored in a damaged file.
std::int64_t count_rows(Connection& connection, const char* table, Id experiment) {
  std::string row = fmt::to_string(bytes_of_numbers);
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
      Size size{
          .uid = experiment.uid, .bytes = stored.row.bytes(), .has_row = damaged.contains(id)};
      for (const char* table : {"trial", "build", "event"})
        size.bytes += count_rows(connection, table, id);
      counted_[id] = known_[id] = size;
      return false;
    });
  }
  const std::string hidden(being_removed);
  for (const Id id : connection.ids("experiment", "WHERE state = ?", {hidden}).ids)
    for (auto* sizes : {&known_, &counted_})
      if (const auto size = sizes->find(id); size != sizes->end()) size->second.hidden = true;
  count_all();
  begin();
}

void Sizes::add_experiment(const Experiment& experiment, Id id) {
  noted_[id] = Size{.uid = experiment.uid,
                    .bytes = to_row(experiment).bytes(),
                    .hidden = experiment.state == being_removed};
}

Sizes::Size* Sizes::note(Id experiment) {
  auto noted = noted_.find(experiment);
  if (noted == noted_.end()) {
    const auto known = known_.find(experiment);
    if (known == known_.end()) return nullptr;  // a damaged experiment
    noted = noted_.emplace(experiment, known->second).first;
  }
  return noted->second ? &*noted->second : nullptr;
}

void Sizes::use_state(Id experiment, std::string_view state) {
  const bool hidden = state == being_removed;
  const auto known = known_.find(experiment);
  if (known != known_.end() && known->second.hidden == hidden) return;
  if (Size* const size = note(experiment)) size->hidden = hidden;
}

void Sizes::add(Id experiment, std::int64_t bytes) {
  if (Size* const size = note(experiment))
    size->bytes = std::max<std::int64_t>(0, size->bytes + bytes);
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
    if (const auto known = known_.find(experiment); known != known_.end()) count(known->second, -1);
    if (size) {
      known_[experiment] = *size;
      count(*size, 1);
    } else {
      known_.erase(experiment);
    }
  }
  counted_.clear();
  begin();
}

std::uint64_t Sizes::of_experiment(Id experiment) const {
  const auto known = known_.find(experiment);
  return known == known_.end() ? 0 : static_cast<std::uint64_t>(known->second.bytes);
}

void Sizes::count(const Size& size, std::int64_t sign) {
  const auto sum = sums_.try_emplace(account_of_(size.uid)).first;
  const auto bytes = static_cast<std::uint64_t>(sign * size.bytes);  // modulo 2^64
  sum->second.all += bytes;
  if (size.hidden) sum->second.hidden += bytes;
  if (sum->second.all == 0) sums_.erase(sum);
}

void Sizes::count_all() {
  sums_.clear();
  for (const auto& [experiment, size] : known_) count(size, 1);
}

void Sizes::use_accounts(AccountOf account_of) {
  account_of_ = std::move(account_of);
  count_all();
}

BytesOfAccount Sizes::of_account(std::uint32_t uid) const {
  const auto sum = sums_.find(account_of_(uid));
  return sum == sums_.end() ? BytesOfAccount() : sum->second;
}

}  // namespace stab::store
