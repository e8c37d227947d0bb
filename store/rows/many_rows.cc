// SPDX-License-Identifier: MIT
#include "store/rows/many_rows.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <nlohmann/json.hpp>

#include "store/failure.h"
#include "store/profiles/profile_text.h"
#include "store/rows/reading_list.h"
#include "store/rows/sample_list.h"
#include "store/verify.h"

namespace stab::store {
namespace {

constexpr const char* trials_sql =
    "SELECT * FROM trial WHERE experiment = ? AND position >= ? AND position < ? "
    "ORDER BY position, attempt";
constexpr std::size_t most_known_levels = 4096;

template <class T>
void take(const Cursor& row, int place, std::optional<T>& value) {
  const auto number = row.optional_integer(place);
  value = number ? std::optional(static_cast<T>(*number)) : std::nullopt;
}
void take(const Cursor& row, int place, std::string& text) {
  text = row.text_or_empty(place);
}

template <class Status>
Status known(std::optional<Status> status, std::string_view text) {
  if (!status) refuse(fmt::format("the status {} is unknown; use the stabd that wrote it", text));
  return *status;
}

// What a column of a trial is for. Levels, lists and the layout are not in here.
struct Field {
  const char* column;
  void (*read)(const Cursor& row, int place, Trial& trial);
};
constexpr std::array fields{
    Field{"experiment", [](auto& row, int at, Trial& to) { to.experiment = row.integer(at); }},
    Field{"position", [](auto& row, int at,
                         Trial& to) { to.position = static_cast<std::uint32_t>(row.integer(at)); }},
    Field{"attempt", [](auto& row, int at,
                        Trial& to) { to.attempt = static_cast<std::uint32_t>(row.integer(at)); }},
    Field{"last", [](auto& row, int at, Trial& to) { to.last = row.integer(at) != 0; }},
    Field{"block", [](auto& row, int at,
                      Trial& to) { to.block = static_cast<std::uint32_t>(row.integer(at)); }},
    Field{"warmup", [](auto& row, int at, Trial& to) { to.warmup = row.integer(at) != 0; }},
    Field{"benchmark", [](auto& row, int at, Trial& to) { to.benchmark = row.text(at); }},
    Field{"seed", [](auto& row, int at,
                     Trial& to) { to.seed = std::bit_cast<std::uint64_t>(row.integer(at)); }},
    Field{"build", [](auto& row, int at, Trial& to) { to.build = row.text(at); }},
    Field{"status", [](auto& row, int at,
                       Trial& to) { to.status = known(trial_status(row.text(at)), row.text(at)); }},
    Field{"reason", [](auto& row, int at, Trial& to) { to.reason = row.text(at); }},
    Field{"exit_code", [](auto& row, int at, Trial& to) { take(row, at, to.exit_code); }},
    Field{"signal", [](auto& row, int at, Trial& to) { take(row, at, to.signal); }},
    Field{"started_ns", [](auto& row, int at, Trial& to) { to.started_ns = row.integer(at); }},
    Field{"wall_ns", [](auto& row, int at, Trial& to) { take(row, at, to.wall_ns); }},
    Field{"user_ns", [](auto& row, int at, Trial& to) { take(row, at, to.user_ns); }},
    Field{"system_ns", [](auto& row, int at, Trial& to) { take(row, at, to.system_ns); }},
    Field{"max_rss_bytes", [](auto& row, int at, Trial& to) { take(row, at, to.max_rss_bytes); }},
    Field{"stdout_sha256", [](auto& row, int at, Trial& to) { to.stdout_sha256 = row.text(at); }},
    Field{"stderr_tail", [](auto& row, int at, Trial& to) { to.stderr_tail = row.text(at); }},
};

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
  for (const Field& field : fields) places_.push_back(rows_.place(field.column));
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
  for (std::size_t i = 0; i < fields.size(); ++i) fields[i].read(rows_, places_[i], trial);
  trial.levels = levels(rows_.text(levels_));
  std::string problem;
  try {
    read_reading_list(rows_.text_or_empty(reading_list_), trial.readings);
    read_sample_list(rows_.text_or_empty(sample_list_), trial.samples);
    read_profile_text(rows_.text_or_empty(profile_), trial.profile);
    trial.causal = rows_.text_or_empty(causal_);
    if (!trial.causal.empty() && !nlohmann::json::accept(trial.causal))
      refuse("its causal profile is no JSON");
    problem =
        reading_problem(rows_.integer(readings_), static_cast<std::int64_t>(trial.readings.size()));
  } catch (const Failure& failure) {
    problem = failure.what();  // and here is known whose list it is
  }
  if (!problem.empty()) refuse_damaged({.table = "trial", .row = rows_.id(), .problem = problem});
  auto place = layout_places_.begin();
  for_each_layout_column(
      [&](const LayoutColumn&, auto member) { take(rows_, *place++, trial.layout.*member); });
  return true;
}

}  // namespace stab::store
