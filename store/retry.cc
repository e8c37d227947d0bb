// SPDX-License-Identifier: MIT
// Retries of experiments (S8): their failed attempts lose the mark `last`.
#include <fmt/format.h>

#include <cstddef>
#include <utility>

#include "store/connection.h"
#include "store/exceptions.h"
#include "store/rows/codec.h"
#include "store/rows/cursor.h"
#include "store/store.h"

namespace stab::store {
namespace {

struct Piece {
  std::vector<Stored> failed;  // attempts with the mark `last`
  std::optional<Store::Place> next;
};

bool succeeded(std::string_view status) {
  return status == to_string(TrialStatus::ok) || status == to_string(TrialStatus::disturbed);
}

std::size_t bytes_of_texts(const Row& row) {
  std::size_t bytes = 0;
  for (const auto& [column, value] : row.values())
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
  return bytes;
}

// Reads only the status of attempts that succeeded.
Piece piece_behind(Connection& connection, Id experiment, Store::Place after) {
  Piece piece;
  Cursor rows = connection.cursor(
      "trial", "WHERE experiment = ? AND (position, attempt) > (?, ?) ORDER BY position, attempt",
      {experiment, after.position, after.attempt});
  const int last = rows.place("last");
  const int status = rows.place("status");
  const int position = rows.place("position");
  const int attempt = rows.place("attempt");
  std::size_t bytes = 0;
  for (std::int64_t seen = 0; rows.step();) {
    if (rows.integer(last) == 1 && !succeeded(rows.text(status))) {
      piece.failed.push_back({.row = rows.row(), .id = rows.id(), .intact = rows.intact()});
      bytes += bytes_of_texts(piece.failed.back().row);
    }
    if (++seen < piece_of_retry && std::cmp_less(piece.failed.size(), piece_of_removal) &&
        std::cmp_less(bytes, bytes_of_removal))
      continue;
    piece.next = {.position = rows.integer(position), .attempt = rows.integer(attempt)};
    break;
  }
  return piece;
}

}  // namespace

Outcome<Store::Failed> Store::failed(Id experiment, Place after) {
  return guarded(fmt::format("cannot read the trials of experiment {}", experiment), path(), [&] {
    const Piece piece = piece_behind(connection(), experiment, after);
    for (const Stored& each : piece.failed)
      if (!each.intact)
        refuse_damaged(
            {.table = "trial", .row = each.id, .problem = std::string(checksum_problem)});
    return Failed{.count = piece.failed.size(), .next = piece.next};
  });
}

Outcome<void> Store::begin_retry(const Experiment& experiment, std::string_view state_before) {
  Experiment begun = experiment;
  begun.state = being_retried;
  auto written = write(fmt::format("experiment {}", experiment.id), [&] {
    if (connection().number("SELECT count(*) FROM experiment WHERE id = ? AND state = ?",
                            {experiment.id, std::string(state_before)}) == 0)
      refuse("the experiment has changed meanwhile: try again");
    connection().update("experiment", experiment.id, to_row(begun));
  });
  if (written) now_stored(begun);
  return written;
}

// A damaged row stays as it is; the next read reports it.
Outcome<std::optional<Store::Place>> Store::go_on_with_retry(Id experiment, Place after) {
  std::optional<Place> next;
  auto written = write(fmt::format("the retry of experiment {}", experiment), [&] {
    Piece piece = piece_behind(connection(), experiment, after);
    for (Stored& each : piece.failed) {
      if (!each.intact) continue;
      each.row.set("last", std::int64_t{0});
      connection().update("trial", each.id, std::move(each.row));
    }
    next = piece.next;
  });
  if (!written) return std::unexpected(written.error());
  return next;
}

Outcome<void> Store::reopen(Id experiment, std::uint32_t from, std::uint32_t end) {
  return write(fmt::format("trials {} to {} of experiment {}", from, end, experiment), [&] {
    unmark("WHERE experiment = ? AND position >= ? AND position < ? AND last = 1",
           {experiment, std::int64_t{from}, std::int64_t{end}});
  });
}

}  // namespace stab::store
