// SPDX-License-Identifier: MIT

#include "client/run_folder.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <boost/describe.hpp>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/text.h"
#include "client/streams.h"
#include "client/verbs.h"
#include "machine/containment.h"
#include "plan/reading/read_plan.h"
#include "protocol/codec.h"
#include "protocol/paths.h"
#include "results/answers.h"
#include "results/document.h"
#include "results/export.h"
#include "results/profiles.h"
#include "results/report_page.h"
#include "results/run_request.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;

std::string file_name(const std::string& name) {
  std::string safe;
  for (const char c : name)
    safe += std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_'
                ? c
                : '-';
  return safe;
}

// The file that holds the digest of the run's plan until the run has ended.
std::string mark_of(const std::string& folder) {
  return folder + "/unfinished";
}

std::string digest_of(const RunOf& run) {
  Sha256 hash;
  // A run that an earlier version began continues with the defaults of that version, so the digest
  // leaves defaults out.
  hash.add_field(plan::without_defaults(run.plan));
  hash.add_field(run.directory);
  return hash.hex();
}

bool has_mark(const std::string& folder, const std::string& digest) {
  const auto mark = read_file(mark_of(folder), 4096);
  return mark && *mark == digest;
}

// Empty if the run is of another plan, or a process uses the folder.
std::optional<RunFolder> interrupted_in(const std::string& folder, const std::string& digest) {
  if (!has_mark(folder, digest)) return std::nullopt;
  Fd claim(open(mark_of(folder).c_str(), O_RDONLY | O_CLOEXEC));
  if (!claim || flock(claim.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  return RunFolder{.path = folder, .claim = std::move(claim)};
}

// Folders with a mark, newest first.
std::vector<std::string> marked_folders(const std::string& runs) {
  std::error_code error;
  std::set<std::pair<fs::file_time_type, std::string>> marks;
  for (const auto& entry : fs::directory_iterator(runs, error)) {
    std::error_code none;
    const auto time = fs::last_write_time(mark_of(entry.path()), none);
    if (!none) marks.emplace(time, entry.path().string());
  }
  std::vector<std::string> folders;
  for (auto each = marks.rbegin(); each != marks.rend(); ++each) folders.push_back(each->second);
  return folders;
}

std::optional<RunFolder> newest_interrupted(const std::string& runs, const std::string& digest) {
  for (const std::string& folder : marked_folders(runs))
    if (auto found = interrupted_in(folder, digest)) return found;
  return std::nullopt;
}

Result<RunFolder> new_folder(const std::string& runs, const RunOf& run, const std::string& digest) {
  std::error_code error;
  const std::string stem = fmt::format("{}/{}-{:%Y%m%d-%H%M%S}", runs, file_name(run.experiment),
                                       fmt::localtime(std::time(nullptr)));
  fs::create_directories(runs, error);
  RunFolder folder{.path = stem, .claim = Fd()};
  for (int i = 2; !error && !fs::create_directory(folder.path, error) && !error; ++i)
    folder.path = fmt::format("{}-{}", stem, i);
  if (error) return fail(fmt::format("cannot create {}: {}", folder.path, error.message()));
  folder.claim = Fd(open(mark_of(folder.path).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!folder.claim) return fail_errno("cannot write " + mark_of(folder.path));
  flock(folder.claim.get(), LOCK_EX);
  if (auto written = write_all(folder.claim.get(), digest); !written)
    return std::unexpected(written.error());
  return folder;
}

}  // namespace

std::string folder_of_runs() {
  return fs::absolute(default_state_directory() + "/runs").string();
}

bool is_unfinished(const std::string& folder, const RunOf& run) {
  return has_mark(folder, digest_of(run));
}

std::vector<std::string> interrupted_runs() {
  std::vector<std::string> folders = marked_folders(folder_of_runs());
  std::erase_if(folders, [](const std::string& folder) {
    const Fd mark(open(mark_of(folder).c_str(), O_RDONLY | O_CLOEXEC));
    return !mark || flock(mark.get(), LOCK_EX | LOCK_NB) != 0;
  });
  return folders;
}

Result<RunFolder> choose_folder(const std::string& wanted, const RunOf& run, bool again) {
  const std::string digest = digest_of(run);
  if (!wanted.empty()) {
    std::error_code error;
    fs::create_directories(wanted, error);
    if (error) return fail(fmt::format("cannot create {}: {}", wanted, error.message()));
    // The claim keeps the same command without --folder from continuing this run meanwhile.
    const std::string path = fs::absolute(wanted).string();
    if (auto found = interrupted_in(path, digest)) return std::move(*found);
    return RunFolder{.path = path, .claim = Fd()};
  }
  const std::string runs = folder_of_runs();
  if (!again)
    if (auto found = newest_interrupted(runs, digest)) return std::move(*found);
  return new_folder(runs, run, digest);
}

void mark_ended(const RunFolder& folder) {
  unlink(mark_of(folder.path).c_str());
}

void tell_how_to_report(const std::string& folder, store::Id id) {
  tell(fmt::format("to see the full report at any time: stabctl report --full {} --folder {}", id,
                   shell_quote(folder)));
}

// Lists the runs in the folders that `stabctl run` and `stabctl ab` created.

// An experiment, or a folder without a readable experiment.
struct LeftRun {
  std::string folder{};
  std::optional<std::int64_t> id{};  // absent: no experiment could be read
  std::string name{};
  std::string state{};  // as its row says
  std::string reason{};
  std::uint64_t trials = 0;             // of its plan
  std::optional<std::uint64_t> done{};  // trials that ended in any way; absent if damage hides it
  std::int64_t submitted_ns = 0;
  std::optional<std::int64_t> ended_ns{};
  bool running = false;               // a daemon is using it now
  bool goes_on = false;               // the command that began it would continue it
  std::optional<std::string> verb{};  // of that command, if goes_on: "run" or "ab"
  std::string problem{};              // why something is missing here; "": nothing is missing
};
BOOST_DESCRIBE_STRUCT(LeftRun, (),
                      (folder, id, name, state, reason, trials, done, submitted_ns, ended_ns,
                       running, goes_on, verb, problem))

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

namespace {

void count_trials(store::Reader& reader, LeftRun& run) {
  const auto progress = reader.progress(*run.id);
  if (!progress) {
    run.problem = progress.error().message;
    return;
  }
  run.done = std::ranges::count_if(*progress, &store::Reader::Progress::done);
}

LeftRun run_of(const std::string& folder, const store::Experiment& row) {
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
  return run;
}

enum class Trials { counted, left_alone };

void add_runs_in(const std::string& folder, Trials trials, std::vector<LeftRun>& runs) {
  const auto stored = open_stored(folder);
  const auto rows = stored ? stored->reader->experiments()
                           : store::Outcome<store::Reader::Experiments>(std::unexpected(
                                 store::StoreError{.message = stored.error().message}));
  if (!rows) {
    runs.push_back({.folder = folder, .problem = rows.error().message});
    return;
  }
  for (const store::Experiment& row : rows->intact) {
    runs.push_back(run_of(folder, row));
    if (trials == Trials::counted) count_trials(*stored->reader, runs.back());
  }
  for (const store::Damage& row : rows->damaged)
    runs.push_back(
        {.folder = folder,
         .state = "damaged",
         .problem = fmt::format("row {} of table {}: {}", row.row, row.table, row.problem)});
  if (rows->intact.empty() && rows->damaged.empty())
    runs.push_back({.folder = folder, .problem = "it holds no experiment"});
}

// The runs in the folders below `runs`, oldest first. Empty if `runs` does not exist.
Result<std::vector<LeftRun>> left_runs(const std::string& runs, Trials trials) {
  std::error_code error;
  std::vector<LeftRun> found;
  if (!fs::exists(runs, error)) return found;
  for (auto each = fs::directory_iterator(runs, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    std::error_code ignored;
    if (each->is_directory(ignored)) add_runs_in(each->path().string(), trials, found);
  }
  if (error) return fail(fmt::format("cannot read {}: {}", runs, error.message()));
  std::ranges::sort(found, {}, [](const LeftRun& run) {
    return std::tuple(run.submitted_ns, run.folder, run.id);
  });
  return found;
}

// If the daemon was killed, the row still says `running`.
std::string state_of(const LeftRun& run) {
  if (run.running || run.ended_ns || !run.id) return run.state;
  return "interrupted";
}

std::string line_of(const LeftRun& run) {
  std::string line = fmt::format(
      "{:<11}  {:>7} of {:>7} trials  {:<19}  {}  {}", state_of(run),
      run.done ? std::to_string(*run.done) : "?", run.trials, local_time(run.submitted_ns),
      run.name.empty() ? "?" : one_line(run.name, 100), for_terminal(run.folder));
  if (run.verb) line += fmt::format("  (run the same 'stabctl {}' to continue)", *run.verb);
  if (!run.problem.empty()) line += "  (" + one_line(run.problem, 300) + ")";
  return line;
}

}  // namespace

Result<int> runs(const Common& common) {
  const std::string folder = folder_of_runs();
  const auto found = left_runs(folder, Trials::counted);
  if (!found) return std::unexpected(found.error());
  if (common.json) {
    if (auto printed = write_json(protocol::to_text(*found, 2)); !printed)
      return std::unexpected(printed.error());
    return exit_ok;
  }
  if (found->empty())
    fmt::print("there are no runs in {}: start a run with 'stabctl run plan.toml'\n", folder);
  for (const LeftRun& run : *found) fmt::print("{}\n", line_of(run));
  return exit_ok;
}

std::vector<std::string> completed_folders(const std::string& runs, const std::string& beginning) {
  std::vector<std::string> lines;
  auto found = left_runs(runs, Trials::left_alone);
  if (!found) return lines;
  for (const LeftRun& run : *found | std::views::reverse)
    if (run.id && run.folder.starts_with(beginning))
      lines.push_back(
          fmt::format("{}\t{} ({})", run.folder, one_line(run.name, 60), one_line(run.state, 20)));
  return lines;
}

// Answers requests from the database in such a folder.

Result<std::vector<store::Id>> ids_in(store::Reader& reader) {
  const auto found = reader.experiments();
  if (!found) return fail(found.error().message);
  std::vector<store::Id> ids;
  for (const store::Experiment& each : found->intact) ids.push_back(each.id);
  for (const store::Damage& each : found->damaged) ids.push_back(each.row);
  std::ranges::sort(ids);
  return ids;
}

std::unexpected<Error> no_experiment(store::Id wanted, const std::string& database,
                                     const std::vector<store::Id>& ids) {
  if (ids.empty())
    return fail(
        fmt::format("there is no experiment {} in {}, which holds no experiments ('stabctl runs' "
                    "lists the folders of runs)",
                    wanted, database));
  return fail(fmt::format("there is no experiment {} in {}: choose one of {}", wanted, database,
                          fmt::join(ids, ", ")));
}

namespace {

Result<store::Experiment> find(const Stored& stored, store::Id id) {
  const auto ids = ids_in(*stored.reader);
  if (!ids) return std::unexpected(ids.error());
  if (ids->empty())
    return fail(
        fmt::format("{} holds no experiments: the run ended before an experiment began, or the "
                    "experiments were removed. Repeat the command that started the run, or choose "
                    "another folder ('stabctl runs' lists the folders of runs)",
                    stored.path));
  if (id == 0 && ids->size() > 1)
    return fail(
        fmt::format("{} holds the experiments {}: choose one", stored.path, fmt::join(*ids, ", ")));
  const store::Id wanted = id == 0 ? ids->front() : id;
  auto found = stored.reader->experiment(wanted);
  if (!found) return fail(found.error().message);
  if (!*found) return no_experiment(wanted, stored.path, *ids);
  return std::move(**found);
}

}  // namespace

Result<void> is_there(const std::string& database) {
  std::error_code error;
  if (fs::is_regular_file(database, error)) return {};
  return fail(fmt::format(
      "there is no database {}: name the folder of a 'stabctl run' ('stabctl runs' lists these "
      "folders)",
      database));
}

Result<Stored> open_stored(const std::string& folder) {
  std::error_code error;
  const std::string path = (fs::absolute(folder, error) / "stabd.db").lexically_normal().string();
  if (auto there = is_there(path); !there) return std::unexpected(there.error());
  auto reader = store::Reader::open(path);
  if (!reader) return fail(reader.error().message);
  return Stored{.path = path, .reader = std::move(*reader)};
}

Result<store::Id> experiment_in(const std::string& folder, store::Id id) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto found = find(*stored, id);
  if (!found) return std::unexpected(found.error());
  return found->id;
}

Result<Analysed> analyse_stored(const std::string& folder, store::Id id,
                                const results::Asked& asked) {
  auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  auto experiment = find(*stored, id);
  if (!experiment) return std::unexpected(experiment.error());
  auto document = results::make_document(*stored->reader, *experiment, stored->path, asked);
  if (!document) return std::unexpected(document.error());
  // The command for the full report would ask for the plan's own response.
  if (asked.response.empty()) document->folder = fs::path(stored->path).parent_path().string();
  // The row of an experiment whose stabd was interrupted has the state of that moment.
  const bool was_busy = experiment->state == "building" || experiment->state == "quiescing" ||
                        experiment->state == "running" || experiment->state == "analysing";
  if (was_busy && !is_in_use(folder)) document->state = "interrupted";
  return Analysed{.stored = std::move(*stored),
                  .experiment = std::move(*experiment),
                  .document = std::move(*document)};
}

Result<protocol::ReportReply> Analysed::as(const protocol::ReportRequest& form) const {
  return results::show_any_report(*stored.reader, experiment, document, form);
}

Ending Analysed::ending() const {
  return ending_of(results::reply_with("", experiment, document));
}

Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::ReportRequest& request) {
  const auto analysed =
      analyse_stored(folder, request.id, {.response = request.response, .better = request.better});
  return analysed ? analysed->as(request) : std::unexpected(analysed.error());
}

Result<protocol::ReportReply> answer_stored(const std::string& folder,
                                            const protocol::CompareRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  std::vector<store::Id> ids = request.ids;
  if (ids.empty()) ids.push_back(0);
  std::vector<store::Experiment> experiments;
  for (const store::Id id : ids) {
    auto found = find(*stored, id);
    if (!found) return std::unexpected(found.error());
    experiments.push_back(std::move(*found));
  }
  return results::answer_compare(*stored->reader, experiments, request);
}

Result<protocol::ResultsReply> answer_stored(const std::string& folder,
                                             const protocol::ResultsRequest& request) {
  auto analysed = analyse_stored(folder, request.id,
                                 {.response = request.response,
                                  .better = request.better,
                                  .machines_as_one = request.machines_as_one});
  if (!analysed) return std::unexpected(analysed.error());
  return protocol::ResultsReply{.document = std::move(analysed->document)};
}

Result<protocol::ExportReply> answer_stored(const std::string& folder,
                                            const protocol::ExportRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  std::string text;
  const auto add = [&](std::string_view piece) -> Result<void> {
    text += piece;
    return {};
  };
  const auto written = results::write_export(*stored->reader, *experiment,
                                             {.format = request.format, .cell = request.cell}, add);
  if (!written) return std::unexpected(written.error());
  return protocol::ExportReply{.text = std::move(text)};
}

Result<protocol::ReplayReply> answer_stored(const std::string& folder,
                                            const protocol::ReplayRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  auto reply = results::answer_replay(
      *stored->reader, *experiment,
      fmt::format("{}/builds/{}", default_cache_directory(), experiment->uid),
      {.position = request.position, .attempt = request.attempt});
  if (reply) reply->marked = machine::best_containment() == machine::Containment::process_tree;
  return reply;
}

Result<protocol::ProfileReply> answer_stored(const std::string& folder,
                                             const protocol::ProfileRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  return results::answer_profile(*stored->reader, *experiment, request);
}

Result<protocol::LogsReply> answer_stored(const std::string& folder,
                                          const protocol::LogsRequest& request) {
  const auto stored = open_stored(folder);
  if (!stored) return std::unexpected(stored.error());
  const auto experiment = find(*stored, request.id);
  if (!experiment) return std::unexpected(experiment.error());
  return results::answer_logs(*stored->reader, *experiment, request.after);
}

}  // namespace stab::client
