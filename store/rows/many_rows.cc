// SPDX-License-Identifier: MIT
#include "store/rows/many_rows.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <type_traits>

#include "store/exceptions.h"
#include "store/profiles/profile_text.h"
#include "store/rows/reading_list.h"
#include "store/rows/sample_list.h"
#include "store/trial_columns.h"
#include "store/verify.h"

namespace stab::store {
namespace {

constexpr const char* trials_sql =
    "SELECT * FROM trial WHERE experiment = ? AND position >= ? AND position < ? "
    "ORDER BY position, attempt";
constexpr std::size_t most_known_levels = 4096;

template <class Status>
Status known(std::optional<Status> status, std::string_view text) {
  if (!status) refuse(fmt::format("the status {} is unknown; use the stabd that wrote it", text));
  return *status;
}

template <class T>
  requires std::is_integral_v<T>
void take(const Cursor& row, int place, T& number) {
  number = static_cast<T>(row.integer(place));  // unsigned 64-bit numbers are stored as signed
}
template <class T>
void take(const Cursor& row, int place, std::optional<T>& value) {
  const auto number = row.optional_integer(place);
  value = number ? std::optional(static_cast<T>(*number)) : std::nullopt;
}
void take(const Cursor& row, int place, TrialStatus& status) {
  status = known(trial_status(row.text(place)), row.text(place));
}
void take(const Cursor& row, int place, std::string& text) {
  text = row.text(place);
}
// A text of a layout is empty if its column is NULL.
void take_layout(const Cursor& row, int place, std::string& text) {
  text = row.text_or_empty(place);
}
template <class T>
void take_layout(const Cursor& row, int place, std::optional<T>& value) {
  take(row, place, value);
}

}  // namespace

std::map<std::string, std::string> levels_in(const std::string& text) {
  return nlohmann::json::parse(text).get<std::map<std::string, std::string>>();
}

TrialRows::TrialRows(sqlite3* database, Id experiment, Positions positions)
    : rows_(database, "trial", trials_sql,
            {experiment, positions.from, static_cast<std::int64_t>(positions.end)}),
      levels_(rows_.place("levels")),
      readings_(rows_.place("readings")),
      reading_list_(rows_.place("reading_list")),
      sample_list_(rows_.place("sample_list")),
      profile_(rows_.place("profile")),
      causal_(rows_.place("causal")) {
  for_each_trial_column([&](const auto& column) { places_.push_back(rows_.place(column.name)); });
  for_each_layout_column([&](const LayoutColumn& column, auto) {
    layout_places_.push_back(rows_.place(column.name));
  });
}

const std::map<std::string, std::string>& TrialRows::levels(std::string_view text) {
  const std::string key(text);
  if (const auto found = known_levels_.find(key); found != known_levels_.end())
    return found->second;
  if (known_levels_.size() >= most_known_levels) known_levels_.clear();
  return known_levels_.emplace(key, levels_in(key)).first->second;
}

bool TrialRows::next(Trial& trial) {
  if (!rows_.step()) return false;
  rows_.require_intact();
  auto place = places_.begin();
  for_each_trial_column([&](const auto& column) { take(rows_, *place++, trial.*column.member); });
  trial.levels = levels(rows_.text(levels_));
  std::string problem;
  try {
    read_reading_list(rows_.text_or_empty(reading_list_), trial.readings);
    read_sample_list(rows_.text_or_empty(sample_list_), trial.samples);
    read_profile_text(rows_.text_or_empty(profile_), trial.profile);
    trial.causal = rows_.text_or_empty(causal_);
    if (!trial.causal.empty() && !nlohmann::json::accept(trial.causal))
      refuse("its causal profile is not JSON");
    problem =
        reading_problem(rows_.integer(readings_), static_cast<std::int64_t>(trial.readings.size()));
  } catch (const Failure& failure) {
    problem = failure.what();  // reported below with the trial's row
  }
  if (!problem.empty()) refuse_damaged({.table = "trial", .row = rows_.id(), .problem = problem});
  place = layout_places_.begin();
  for_each_layout_column([&](const LayoutColumn&, auto member) {
    take_layout(rows_, *place++, trial.layout.*member);
  });
  return true;
}

}  // namespace stab::store
