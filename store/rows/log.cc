// SPDX-License-Identifier: MIT
#include "store/rows/log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <tuple>

namespace stab::store {
namespace {

using LogRow = Reader::LogRow;

constexpr std::size_t most_rows = 200;  // of each table in one piece

std::string of_trial(const Row& row) {
  const std::string& reason = row.text("reason");
  const std::string& printed = row.text("stderr_tail");
  return reason + (reason.empty() || printed.empty() ? "" : "\n") + printed;
}

// The part of a piece that comes from one table.
struct Part {
  std::vector<LogRow> rows;
  Id* next;
  Id end;  // the last id that was looked at
  bool is_cut = false;

  // The query asks for one row more than a piece may have. If it is there, the part is cut.
  void cut() {
    is_cut = rows.size() > most_rows;
    if (!is_cut) return;
    rows.pop_back();
    end = rows.back().id;
  }
  // Drops rows after this time.
  void keep_until(std::int64_t at_ns) {
    const auto later =
        std::ranges::find_if(rows, [&](const LogRow& row) { return row.at_ns > at_ns; });
    if (later == rows.end()) return;
    end = later->id - 1;
    rows.erase(later, rows.end());
  }
};

Part part_of(Connection& connection, const char* table, const char* which, Id experiment, Id* next,
             LogRow (*to_row)(const Row&)) {
  Part part{.rows = {},
            .next = next,
            .end = std::max(*next, connection.number(
                                       fmt::format("SELECT coalesce(max(id), 0) FROM {}", table)))};
  // Ids rise, so reading by id never looks at an earlier piece again.
  connection.select(
      table,
      fmt::format("NOT INDEXED WHERE id > ? AND experiment = ? {} ORDER BY id LIMIT {}", which,
                  most_rows + 1),
      {*next, experiment}, [&](const Stored& stored) {
        part.rows.push_back(to_row(stored.row));
        part.rows.back().id = stored.id;
        return true;
      });
  part.cut();
  return part;
}

}  // namespace

Reader::Log log_of(Connection& connection, Id experiment, Reader::LogPlace after) {
  Reader::Log log{.rows = {}, .next = after};
  std::array parts{
      part_of(connection, "build", "AND output <> ''", experiment, &log.next.build,
              [](const Row& row) {
                return LogRow{.kind = "build",
                              .benchmark = row.text("benchmark"),
                              .text = row.text("output")};
              }),
      part_of(connection, "trial", "AND (stderr_tail <> '' OR reason <> '')", experiment,
              &log.next.trial,
              [](const Row& row) {
                return LogRow{.at_ns = row.integer("started_ns") +
                                       row.optional_integer("wall_ns").value_or(0),
                              .kind = "trial",
                              .benchmark = row.text("benchmark"),
                              .position = static_cast<std::uint32_t>(row.integer("position")),
                              .attempt = static_cast<std::uint32_t>(row.integer("attempt")),
                              .text = of_trial(row)};
              }),
      part_of(connection, "event", "", experiment, &log.next.event, [](const Row& row) {
        return LogRow{
            .at_ns = row.integer("at_ns"), .kind = row.text("kind"), .text = row.text("text")};
      })};
  std::int64_t until = std::numeric_limits<std::int64_t>::max();
  for (const Part& part : parts) {
    if (!part.is_cut) continue;
    log.more = true;
    until = std::min(until, part.rows.back().at_ns);
  }
  for (Part& part : parts) {
    // Rows that are later than the last row of a cut table wait for the next piece, too.
    if (!part.is_cut) part.keep_until(until);
    *part.next = part.end;
    std::ranges::move(part.rows, std::back_inserter(log.rows));
  }
  std::ranges::sort(log.rows, {}, [](const LogRow& row) {
    return std::tuple(row.at_ns, row.position.has_value(), row.id);
  });
  return log;
}

}  // namespace stab::store
