// SPDX-License-Identifier: MIT
#include "store/rows/bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/text.h"
#include "counters/readings.h"
#include "store/exceptions.h"
#include "store/records.h"
#include "store/rows/lists.h"
#include "store/rows/row.h"

namespace stab::store {
namespace {

constexpr std::int64_t kib = 1024;
constexpr std::int64_t mib = 1024 * kib;
constexpr std::int64_t word = 64;    // a name of a benchmark, a digest
constexpr std::int64_t title = 400;  // 100 characters
constexpr std::int64_t path = 4 * kib;
constexpr std::int64_t output = 64 * kib;
constexpr std::int64_t reason = 256 * kib;  // a command and its output
constexpr std::int64_t event = 800;         // an event's name of 200 characters

// These agree with the limits of plans (plan/texts.h) and of messages (protocol).
constexpr std::array bounds{TextBound{"meta", "key", word},
                            TextBound{"meta", "value", path},
                            TextBound{"machine", "key", path},
                            TextBound{"machine", "host", path},
                            TextBound{"machine", "facts", mib},
                            TextBound{"experiment", "name", title},
                            TextBound{"experiment", "plan", mib},
                            TextBound{"experiment", "directory", path},
                            TextBound{"experiment", "state", word},
                            TextBound{"experiment", "reason", reason},
                            TextBound{"experiment", "stopped_by", word},
                            TextBound{"experiment", "trial_cpus", path},
                            TextBound{"experiment", "quietness", word},
                            TextBound{"experiment", "source_branch", path},
                            TextBound{"experiment", "source_commit", word},
                            TextBound{"experiment", "node_list", 256 * kib},
                            TextBound{"experiment", "heap_layer", mib},
                            TextBound{"build", "benchmark", word},
                            TextBound{"build", "key", word},
                            TextBound{"build", "command", mib},
                            TextBound{"build", "status", word},
                            TextBound{"build", "binary_sha256", word},
                            TextBound{"build", "output", output},
                            TextBound{"trial", "benchmark", word},
                            TextBound{"trial", "levels", output},
                            TextBound{"trial", "build", word},
                            TextBound{"trial", "status", word},
                            TextBound{"trial", "reason", reason},
                            TextBound{"trial", "stdout_sha256", word},
                            TextBound{"trial", "stderr_tail", output},
                            TextBound{"trial", "randomization", path},
                            TextBound{"trial", "layout_note", path},
                            TextBound{"trial", "reading_list", 256 * kib},
                            TextBound{"trial", "sample_list", counters::most_sample_bytes + kib},
                            TextBound{"trial", "profile", counters::most_profile_bytes + kib},
                            TextBound{"trial", "causal", most_causal_bytes},
                            TextBound{"trial", "node", word},
                            TextBound{"calibration", "name", title},
                            TextBound{"calibration", "scope", word},
                            TextBound{"calibration", "benchmark", word},
                            TextBound{"calibration", "response", event},
                            TextBound{"event", "kind", word},
                            TextBound{"event", "text", reason}};

constexpr std::array tables{TableBound{"build", 100'000, 96 * mib},
                            TableBound{"event", 100'000, 32 * mib},
                            TableBound{"calibration", 20'000, 16 * mib}};

std::vector<TextBound> bounds_of(std::string_view table) {
  std::vector<TextBound> found;
  for (const TextBound& each : bounds)
    if (each.table == table) found.push_back(each);
  return found;
}

// Refuses a row with a text beyond its column's bound. Returns the total size of the row's texts.
std::int64_t check_row(SQLite::Statement& row, const std::vector<TextBound>& columns) {
  std::int64_t together = 0;
  int place = 0;
  for (const TextBound& each : columns) {
    const std::int64_t bytes = row.getColumn(++place).getBytes();
    together += bytes;
    if (bytes > each.most)
      refuse(fmt::format("the column {} of row {} of table {} holds {}, but at most {} are allowed",
                         each.column, row.getColumn(0).getInt64(), each.table,
                         format_bytes(static_cast<std::uint64_t>(bytes)),
                         format_bytes(static_cast<std::uint64_t>(each.most))));
  }
  return together;
}

void check_table(SQLite::Database& database, std::string_view table, const TableBound* most) {
  const std::vector<TextBound> columns = bounds_of(table);
  std::string query = "SELECT id";
  for (const TextBound& each : columns) query += fmt::format(", {}", each.column);
  SQLite::Statement rows(database, fmt::format("{} FROM {} NOT INDEXED", query, table));
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  while (rows.executeStep()) {
    bytes += check_row(rows, columns);
    if (most == nullptr) continue;
    if (++count > most->rows)
      refuse(fmt::format("the table {} has more than {} rows", table, most->rows));
    if (bytes > most->bytes)
      refuse(fmt::format("the texts of table {} are larger than {} in total", table,
                         format_bytes(static_cast<std::uint64_t>(most->bytes))));
  }
}

}  // namespace

std::span<const TextBound> text_bounds() {
  return bounds;
}

std::span<const TableBound> table_bounds() {
  return tables;
}

void check_bounds(SQLite::Database& database) {
  std::string_view checked;
  for (const TextBound& each : bounds) {
    if (each.table == checked) continue;
    checked = each.table;
    const auto most = std::ranges::find(tables, checked, &TableBound::table);
    check_table(database, checked, most == tables.end() ? nullptr : &*most);
  }
}

std::string refusal_of(std::string_view table, const Row& row) {
  for (const TextBound& each : bounds_of(table)) {
    const auto found = row.values().find(each.column);
    if (found == row.values().end()) continue;
    const auto* const text = std::get_if<std::string>(&found->second);
    if (text != nullptr && std::cmp_greater(text->size(), each.most))
      return fmt::format("the column {} of table {} holds {}, but at most {} are allowed",
                         each.column, table, format_bytes(text->size()),
                         format_bytes(static_cast<std::uint64_t>(each.most)));
  }
  return "";
}

namespace {

bool is_line(const std::string& text) {
  return one_line(text, text.size()) == text;
}

std::string too_long(std::string_view column, std::size_t bytes) {
  for (const TextBound& each : text_bounds())
    if (each.table == "trial" && each.column == column && std::cmp_greater(bytes, each.most))
      return fmt::format("a value of {} is too large for the column {}, which stores at most {}",
                         format_bytes(bytes), column,
                         format_bytes(static_cast<std::uint64_t>(each.most)));
  return "";
}

// An upper bound of a reading's size in the column: a control character takes six bytes there, and
// all numbers together at most of_numbers.
std::size_t bytes_of(const counters::Reading& reading) {
  constexpr std::size_t of_numbers = 64;
  return of_numbers + 2 * (reading.name.size() + reading.unit.size()) + 6 * reading.reason.size();
}

std::string refusal_of_samples(const Trial& trial) {
  std::set<std::pair<std::string_view, std::string_view>> known;
  std::size_t bytes = 0;
  for (const counters::Samples& each : trial.samples) {
    for (const std::string* text : {&each.measure, &each.subject, &each.unit})
      if (!is_line(*text))
        return fmt::format(
            "the trial has samples with a name or unit that is not a single line: {}",
            one_line(*text, 100));
    if (!known.emplace(each.measure, each.subject).second)
      return fmt::format("the trial has two lists of samples of {}",
                         one_line(each.measure + " " + each.subject, 200));
    bytes += counters::bytes_of(each);
  }
  return too_long("sample_list", bytes);
}

}  // namespace

std::string refusal_of(const Experiment& experiment) {
  if (!is_cpu_list(experiment.trial_cpus))
    return "the column 'trial_cpus' of table experiment is not a list of CPUs";
  const bool has_source = !experiment.source_branch.empty() || !experiment.source_commit.empty();
  if (has_source && !is_source(experiment.source_branch, experiment.source_commit))
    return "the columns 'source_branch' and 'source_commit' of table experiment are not a branch "
           "and a commit of git";
  if (!std::ranges::all_of(experiment.nodes, is_possible))
    return "the column 'node_list' of table experiment does not describe nodes of a cluster";
  return "";
}

std::string refusal_of(const std::vector<counters::Reading>& readings) {
  std::size_t bytes = 2;
  for (const counters::Reading& each : readings) {
    if (!is_line(each.name) || !is_line(each.unit))
      return fmt::format("there is a reading with a name or unit that is not a single line: {}",
                         one_line(each.name + " " + each.unit, 100));
    bytes += bytes_of(each);
  }
  return too_long("reading_list", bytes);
}

std::string refusal_of(const Trial& trial) {
  std::string why = refusal_of(trial.readings);
  const auto bound = [&why](std::string_view column, std::size_t bytes) {
    if (why.empty()) why = too_long(column, bytes);
  };
  if (why.empty()) why = refusal_of_samples(trial);
  bound("reason", trial.reason.size());
  bound("stdout_sha256", trial.stdout_sha256.size());
  bound("stderr_tail", trial.stderr_tail.size());
  bound("causal", trial.causal.size());
  if (trial.profile.is_wanted()) bound("profile", profile_text(trial.profile).size());
  for_each_layout_column([&]<class T>(const LayoutColumn& column, T Layout::* member) {
    if constexpr (std::is_same_v<T, std::string>) bound(column.name, (trial.layout.*member).size());
  });
  return why;
}

}  // namespace stab::store
