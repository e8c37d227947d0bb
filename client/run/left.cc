// SPDX-License-Identifier: MIT
#include "client/run/left.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "base/fd.h"
#include "client/run/folder.h"
#include "client/stored.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;

// Looks for the process that the database's lock file names. It does not try the lock, because a
// daemon that starts at this moment would then find the lock taken.
bool is_in_use(const std::string& folder) {
  const auto text = read_file(folder + "/stabd.db.lock", 64);
  if (!text) return false;
  int pid = 0;
  std::from_chars(text->data(), text->data() + text->size(), pid);
  const auto name = read_file(fmt::format("/proc/{}/comm", pid), 64);
  return pid > 0 && name && *name == "stabd\n";
}

void count_trials(store::Reader& reader, LeftRun& run) {
  const auto progress = reader.progress(*run.id);
  if (!progress) {
    run.problem = progress.error().message;
    return;
  }
  run.done = std::ranges::count_if(*progress, &store::Reader::Progress::done);
}

LeftRun run_of(store::Reader& reader, const std::string& folder, const store::Experiment& row) {
  LeftRun run{.folder = folder,
              .id = row.id,
              .name = row.name,
              .state = row.state,
              .reason = row.reason,
              .trials = row.trials,
              .submitted_ns = row.submitted_ns,
              .running = is_in_use(folder)};
  if (row.ended_ns != 0) run.ended_ns = row.ended_ns;
  run.goes_on =
      !run.running && row.ended_ns == 0 &&
      is_unfinished(folder, {.experiment = row.name, .plan = row.plan, .directory = row.directory});
  std::error_code error;
  if (run.goes_on) run.verb = fs::exists(folder + "/" + ab_mark, error) ? "ab" : "run";
  count_trials(reader, run);
  return run;
}

void add_runs_in(const std::string& folder, std::vector<LeftRun>& runs) {
  const auto stored = open_stored(folder);
  const auto rows = stored ? stored->reader->experiments()
                           : store::Outcome<store::Reader::Experiments>(std::unexpected(
                                 store::StoreError{.message = stored.error().message}));
  if (!rows) {
    runs.push_back({.folder = folder, .problem = rows.error().message});
    return;
  }
  for (const store::Experiment& row : rows->intact)
    runs.push_back(run_of(*stored->reader, folder, row));
  for (const store::Damage& row : rows->damaged)
    runs.push_back(
        {.folder = folder,
         .state = "damaged",
         .problem = fmt::format("row {} of table {}: {}", row.row, row.table, row.problem)});
  if (rows->intact.empty() && rows->damaged.empty())
    runs.push_back({.folder = folder, .problem = "it holds no experiment"});
}

}  // namespace

Result<std::vector<LeftRun>> left_runs(const std::string& runs) {
  std::error_code error;
  std::vector<LeftRun> found;
  if (!fs::exists(runs, error)) return found;
  for (auto each = fs::directory_iterator(runs, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    std::error_code ignored;
    if (each->is_directory(ignored)) add_runs_in(each->path().string(), found);
  }
  if (error) return fail(fmt::format("cannot read {}: {}", runs, error.message()));
  std::ranges::sort(found, {}, [](const LeftRun& run) {
    return std::tuple(run.submitted_ns, run.folder, run.id);
  });
  return found;
}

}  // namespace stab::client
