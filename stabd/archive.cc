// SPDX-License-Identifier: MIT

#include "stabd/archive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "plan/reading/read_plan.h"
#include "plan/texts.h"
#include "results/exclusion.h"
#include "results/heap_layer.h"
#include "results/trials.h"
#include "store/copy.h"
#include "store/rows/bounds.h"
#include "store/rows/row.h"
#include "toml/value.h"

namespace stab::archive {
namespace {

namespace fs = std::filesystem;

std::string spools_in(const std::string& state_folder) {
  return state_folder + "/spool";
}

// Freeing a large file takes time and happens when its last name and descriptor are gone. So
// `leave` gets a descriptor before the names are removed.
void remove(const std::string& folder, const Spool::Leave& leave) {
  std::error_code error;
  if (leave)
    for (auto each = fs::recursive_directory_iterator(folder, error);
         !error && each != fs::recursive_directory_iterator(); each.increment(error)) {
      std::error_code none;
      if (!each->is_regular_file(none) || std::cmp_less_equal(each->file_size(none), piece_of_file))
        continue;
      Fd file(open(each->path().c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
      if (file) leave(std::move(file));
    }
  fs::remove_all(folder, error);
}

}  // namespace

Result<std::shared_ptr<Spool>> Spool::make(const std::string& state_folder, Leave leave) {
  std::error_code error;
  fs::create_directories(spools_in(state_folder), error);
  std::string folder = spools_in(state_folder) + "/XXXXXX";
  if (mkdtemp(folder.data()) == nullptr)
    return fail_errno(fmt::format("cannot make a folder in {}", spools_in(state_folder)));
  return std::shared_ptr<Spool>(new Spool(std::move(folder), std::move(leave)));
}

void Spool::remove_left(const std::string& state_folder, const Leave& leave) {
  remove(spools_in(state_folder), leave);
}

Spool::~Spool() {
  remove(folder_, leave_);
}

bool Spool::shrink(const Fd& file) {
  struct stat status{};
  if (fstat(file.get(), &status) != 0 || status.st_size <= piece_of_file) return false;
  return ftruncate(file.get(), status.st_size - piece_of_file) == 0;
}

Result<void> Spool::add(std::string_view piece) {
  if (!file_) file_ = Fd(open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file_) return fail_errno("cannot store the data that was sent");
  if (auto written = write_all(file_.get(), piece); !written)
    return fail("cannot store the data that was sent: " + written.error().message);
  bytes_ += piece.size();
  return {};
}

namespace {

constexpr std::array<std::string_view, 3> final_states{"done", "failed", "cancelled"};
// The largest part, because clients wait while a store adds one.
constexpr Most in_one_go{.trials = 100, .others = 100, .bytes = std::size_t{256} << 10};
constexpr std::size_t in_one_transaction = 200;

bool has_ended(const store::Experiment& experiment) {
  return std::ranges::find(final_states, experiment.state) != final_states.end();
}

// Makes the parts in an empty database (P1).
class Parts {
 public:
  Parts(store::Store& to, const store::Experiment& row, const Most& most) : to_(to), most_(most) {
    value_of(to_.add_experiment(row));
    row_of_part_.state = row.state;
  }

  void add(const store::Trial& trial) {
    trials_.push_back(trial);
    trials_.back().experiment = part(of_trials_, most_.trials, store::bytes_of(trial));
    if (trials_.size() == in_one_transaction) finish();
  }
  void add(store::Build build) {
    build.experiment = part(of_builds_, most_.others, store::bytes_of(build));
    value_of(to_.add_build(build));
  }
  void add(store::Event event) {
    event.experiment = part(of_events_, most_.others, store::bytes_of(event));
    value_of(to_.add_event(event));
  }
  void finish() {
    value_of(to_.add_trials(trials_));
    trials_.clear();
  }

 private:
  // The last part that has trials, builds or events.
  struct Filled {
    store::Id id = whole;
    std::size_t rows = 0;
    std::size_t bytes = 0;
  };

  // Returns the part for the next row.
  store::Id part(Filled& filled, std::size_t most_rows, std::size_t bytes) {
    const bool full = filled.rows == most_rows || filled.bytes + bytes > most_.bytes;
    if (full && filled.rows > 0) filled = {.id = filled.id + 1};
    ++filled.rows;
    filled.bytes += bytes;
    for (; last_ < filled.id; ++last_) value_of(to_.add_experiment(row_of_part_));
    return filled.id;
  }

  store::Store& to_;
  Most most_;
  store::Experiment row_of_part_;  // empty except for its state
  store::Id last_ = whole;
  std::vector<store::Trial> trials_;
  Filled of_trials_;
  Filled of_builds_;
  Filled of_events_;
};

// Copies an experiment. `row` is its new row, and `said` becomes its last event.
void copy_experiment(store::Reader& from, const store::Experiment& source, store::Store& to,
                     const store::Experiment& row, const store::Event& said, const Most& most) {
  Parts parts(to, row, most);
  for (const store::Build& each : value_of(from.builds(source.id))) parts.add(each);
  value_of(results::for_each_trial(from, source, [&](const store::Trial& trial) {
    if (trial.position >= source.trials)
      refuse(fmt::format(
          "there is a trial at position {} (counted from 0), but the experiment has only {} trials",
          trial.position, source.trials));
    parts.add(trial);
    return true;
  }));
  for (const store::Event& each : value_of(from.events(source.id))) parts.add(each);
  parts.add(said);
  parts.finish();
}

// The machine's calibrations that count for every user: see noise_floor_of() in
// results/calibrations.h. Any other one could be wrong, and whoever imports the archive could not
// tell whose it is.
std::vector<store::Calibration> calibrations_for_all(store::Reader& from, store::Id machine,
                                                     const std::string& database) {
  struct stat status{};
  if (stat(database.c_str(), &status) != 0)
    refuse(fmt::format("cannot read {}: {}", database, std::strerror(errno)));
  auto calibrations = value_of(from.calibrations(machine));
  std::erase_if(calibrations, [&](const store::Calibration& each) {
    if (each.experiment == 0) return false;
    const auto experiment = from.experiment(each.experiment);
    if (!experiment && experiment.error().temporary)
      throw Refused(experiment.error().message, true);
    // Without an intact row nobody can tell whose experiment it was.
    return !experiment || !*experiment ||
           ((*experiment)->uid != 0 && (*experiment)->uid != status.st_uid);
  });
  return calibrations;
}

void write_archive(const std::string& database, store::Id id, const std::string& file) {
  const auto from = value_of(store::Reader::open(database));
  const auto found = value_of(from->experiment(id));
  if (!found) refuse(fmt::format("it has no experiment {}", id));
  if (!has_ended(*found))
    refuse(fmt::format("experiment {} has not ended yet; it is {}", id, found->state));
  store::remove_left_beside(file);
  const std::string folder = store::unfinished_folder(file);
  if (mkdir(folder.c_str(), 0700) != 0)
    refuse(fmt::format("cannot make a folder next to {}: {}", file, std::strerror(errno)));
  const Fd held(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  flock(held.get(), LOCK_EX | LOCK_NB);
  const std::shared_ptr<void> removed(nullptr, [&](void*) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
  });
  const std::string made = folder + "/stabd.db";
  {
    const auto to = value_of(store::Store::open(made));
    store::Experiment row = *found;
    row.machine = copy_machine(*from, found->machine, *to);
    add_calibrations(calibrations_for_all(*from, found->machine, database), row.machine, *to);
    copy_experiment(
        *from, *found, *to, row,
        {.at_ns = wall_clock_ns(),
         .kind = "export",
         .text = fmt::format("experiment {} of the database {} was written to this archive", id,
                             one_line(database, 500))},
        {});
  }
  if (!value_of(store::back_up(made, file)).empty()) refuse("the copy is damaged: try again");
}

// Checks the rows. The names of benchmarks must be the plan's, because they are shown and are part
// of file names of builds. The status of each trial must follow from the plan's rules and the
// trial's readings.
void check_rows(store::Reader& archive, const store::Experiment& experiment,
                const plan::Plan& plan) {
  std::set<std::string_view> known;
  for (const auto& each : plan.benchmarks) known.insert(each.name);
  const auto check = [&known](const std::string& name, const char* table) {
    if (!known.contains(name))
      refuse(fmt::format(
          "the column 'benchmark' of table {} contains {}, which is not a benchmark of the plan",
          table, one_line(name, 100)));
  };
  for (const store::Build& each : value_of(archive.builds(experiment.id)))
    check(each.benchmark, "build");
  value_of(archive.for_each_trial(experiment.id, [&](const store::Trial& trial) {
    check(trial.benchmark, "trial");
    if (const std::string why = store::refusal_of(trial); !why.empty())
      refuse(fmt::format("trial {}: {}", trial.position, why));
    if (!exclusion::is_marked_right(plan.exclude, trial))
      refuse(
          fmt::format("attempt {} at trial {} is marked {}, but the plan's 'exclude' rules and the "
                      "attempt's readings give another result",
                      trial.attempt, trial.position, to_string(trial.status)));
    return true;
  }));
}

// Times must lie in the past, apart from the difference between two clocks.
bool is_future(std::int64_t ns) {
  constexpr std::int64_t most_ahead_ns = std::int64_t{86'400} * 1'000'000'000;
  return ns > wall_clock_ns() + most_ahead_ns;
}

void check_event(const store::Event& event) {
  if (is_future(event.at_ns))
    refuse("the archive has an event with a date in the future: check the clocks of both machines");
}

// The checks that need nothing but the row.
void check_experiment(const store::Experiment& experiment) {
  if (!has_ended(experiment))
    refuse(fmt::format("the archive's experiment has not ended; its state is {}",
                       one_line(experiment.state, 50)));
  if (const std::string why = store::refusal_of(experiment); !why.empty()) refuse(why);
  if (const auto decided = results::heap_layers(experiment.heap_layer); !decided)
    refuse(decided.error().message);
  if (is_future(std::max({experiment.submitted_ns, experiment.started_ns, experiment.ended_ns})))
    refuse("the experiment has a date in the future: check the clocks of both machines");
}

// Checks a file from an untrusted source, and returns its only experiment.
store::Experiment only_experiment(store::Reader& archive) {
  for (const store::Damage& each : value_of(archive.verify()))
    refuse(fmt::format("the archive is damaged: row {} of table {}: {}", each.row, each.table,
                       each.problem));
  const auto experiments = value_of(archive.experiments());
  if (experiments.intact.size() != 1 || !experiments.damaged.empty())
    refuse(fmt::format(
        "the file holds {} experiments, but an archive holds exactly one: make an archive "
        "with 'stabctl export ID --archive FILE'",
        experiments.intact.size() + experiments.damaged.size()));
  const store::Experiment& experiment = experiments.intact.front();
  check_experiment(experiment);
  const auto plan = plan::read_plan(experiment.plan);
  if (!plan)
    refuse("this version of stabd does not accept the experiment's plan: " +
           toml::describe(plan.error(), "plan"));
  if (experiment.name != plan->name)
    refuse(fmt::format(
        "in the table 'experiment', the column 'name' differs from the name in the plan, {}",
        plan->name));
  check_rows(archive, experiment, *plan);
  for (const store::Event& each : value_of(archive.events(experiment.id))) check_event(each);
  return experiment;
}

void separate(const std::string& file, const Receiver& receiver,
              const store::Reader::Confine& confine, store::Store& to) {
  value_of(to.open_no_more_files());
  const auto archive = value_of(store::Reader::open_of_others(file, confine));
  const store::Experiment source = only_experiment(*archive);
  store::Experiment row = source;
  row.machine = copy_machine(*archive, source.machine, to);
  add_calibrations(value_of(archive->calibrations(source.machine)), row.machine, to);
  copy_experiment(*archive, source, to, row,
                  {.at_ns = wall_clock_ns(),
                   .kind = std::string(store::imported),
                   .text = fmt::format("imported from {} by user {}", one_line(receiver.name, 500),
                                       receiver.uid)},
                  in_one_go);
  // An Intake reads the database without its log.
  if (!value_of(to.empty_log())) refuse("another process has the archive's parts open");
}

}  // namespace

store::Id copy_machine(store::Reader& from, store::Id machine, store::Store& to) {
  if (machine == 0) return 0;
  const auto found = value_of(from.machine(machine));
  if (!found) refuse("the row of the experiment's machine is missing");
  return value_of(to.add_machine(*found));
}

void add_calibrations(std::vector<store::Calibration> calibrations, store::Id machine,
                      store::Store& to) {
  if (calibrations.empty()) return;
  const auto known = value_of(to.calibrations(machine));
  std::erase_if(calibrations, [&](const store::Calibration& each) {
    return std::ranges::any_of(known, [&](const store::Calibration& here) {
      return here.at_ns == each.at_ns && here.name == each.name && here.scope == each.scope &&
             here.benchmark == each.benchmark;
    });
  });
  for (store::Calibration& each : calibrations) {
    each.machine = machine;
    each.experiment = 0;
  }
  value_of(to.add_calibrations(calibrations));
}

Result<void> write(const std::string& database, store::Id id, const std::string& file) {
  try {
    write_archive(database, id, file);
  } catch (const Refused& why) {
    return fail(fmt::format("cannot write the archive: {}", why.what()));
  }
  return {};
}

namespace {

// Messages must not show where the daemon keeps its files.
std::string without(const std::string& path, std::string_view instead, std::string words) {
  if (path.empty()) return words;
  for (std::size_t at = 0; (at = words.find(path, at)) != std::string::npos; at += instead.size())
    words.replace(at, path.size(), instead);
  return words;
}

std::string without_parts(const std::string& parts, std::string words) {
  return without(parts, "the archive's parts", std::move(words));
}

}  // namespace

Result<void> take_apart(const std::string& file, const Receiver& receiver, const std::string& parts,
                        const store::Reader::Confine& confine) {
  std::error_code ignored;
  const std::string resolved = fs::weakly_canonical(parts, ignored);  // as the store names it
  try {
    separate(file, receiver, confine, *value_of(store::Store::open(parts)));
  } catch (const Refused& why) {
    std::string words = without_parts(resolved, without_parts(parts, why.what()));
    if (file != receiver.name) words = without(file, "it", std::move(words));
    return fail(fmt::format("{} is not imported: {}", one_line(receiver.name, 500), words));
  }
  return {};
}

namespace {

void check_benchmark(const std::string& name) {
  if (!plan::is_name(name))
    refuse(fmt::format("{} is not the name of a benchmark", one_line(name, 100)));
}

// Errors of the parts are never temporary: other imports would wait for one that may never succeed.
template <class T>
T of_parts(store::Outcome<T> outcome) {
  if (!outcome) refuse(outcome.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

// Refuses the next row of a table, with which the part has so many bytes, if the part is full.
void check_part(std::size_t rows, std::size_t most_rows, std::size_t bytes) {
  if (rows == most_rows || (rows > 0 && bytes > 2 * in_one_go.bytes))
    refuse("a part of the archive is too large");
}

}  // namespace

store::Outcome<Intake> Intake::open(const std::string& parts, Receiver receiver) {
  try {
    auto from = of_parts(store::Reader::open_unchecked(parts));
    auto row = of_parts(from->experiment(whole));
    if (!row) refuse("the parts contain no experiment");
    check_experiment(*row);
    if (const std::string why = store::refusal_of("experiment", store::to_row(*row)); !why.empty())
      refuse(why);
    if (one_line(row->name, row->name.size()) != row->name)
      refuse("the experiment's name is not a single line");
    return Intake(parts, std::move(from), fs::file_size(parts), std::move(*row),
                  std::move(receiver));
  } catch (const std::exception& why) {
    return std::unexpected(store::StoreError{.message = without_parts(parts, why.what())});
  }
}

Intake::Intake(std::string parts, std::unique_ptr<store::Reader> from, std::uint64_t bytes,
               store::Experiment row, Receiver receiver)
    : parts_(std::move(parts)),
      from_(std::move(from)),
      bytes_(bytes),
      receiver_(std::move(receiver)),
      row_(std::move(row)),
      machine_(row_.machine),
      part_(whole) {
  row_.id = 0;
  row_.uid = receiver_.uid;
  row_.gid = receiver_.gid;
  row_.priority = 0;
  row_.held_by.reset();
  state_ = std::exchange(row_.state, std::string(store::being_removed));
}

void Intake::count(std::string_view table, const store::Row& row) {
  if (const std::string why = store::refusal_of(table, row); !why.empty()) refuse(why);
  std::size_t bytes = 0;
  for (const auto& [column, value] : row.values())
    if (const auto* text = std::get_if<std::string>(&value)) bytes += text->size();
  // A database has each of its texts once, but forged pages can give the same row many times.
  seen_.bytes += bytes;
  if (seen_.bytes > bytes_) refuse("the archive's rows are larger than the archive");
  Seen::Table& sum = seen_.tables[table];
  ++sum.rows;
  sum.bytes += static_cast<std::int64_t>(bytes);
  // take_apart() has added an event.
  constexpr std::int64_t added_rows = 1;
  constexpr std::int64_t added_bytes = 4096;
  for (const store::TableBound& most : store::table_bounds())
    if (most.table == table &&
        (sum.rows > most.rows + added_rows || sum.bytes > most.bytes + added_bytes))
      refuse(fmt::format("the table {} of the archive is too large", table));
}

void Intake::begin(store::Store& to) {
  if (machine_ != 0) {
    auto machine = of_parts(from_->machine(machine_));
    if (!machine) refuse("the row of the experiment's machine is missing");
    count("machine", store::to_row(*machine));
    if (!receiver_.believed) machine->key += fmt::format("-imported-by-{}", receiver_.uid);
    row_.machine = value_of(to.add_machine(*machine));
  }
  row_.id = value_of(to.add_experiment(row_));
}

void Intake::add_trials(store::Store& to) {
  std::vector<store::Trial> trials;
  std::size_t bytes = 0;
  of_parts(from_->for_each_trial(part_, [&](const store::Trial& trial) {
    bytes += store::bytes_of(trial);
    check_part(trials.size(), in_one_go.trials, bytes);
    check_benchmark(trial.benchmark);
    count("trial", store::to_row(trial));
    if (const std::string why = store::refusal_of(trial); !why.empty()) refuse(why);
    if (trial.position >= row_.trials) refuse("there is a trial beyond the experiment's last one");
    // To take the mark from earlier attempts, the store looks at all of them.
    if (trial.last && seen_.marked == trial.position)
      refuse(fmt::format("two attempts at trial {} have the mark 'last'", trial.position));
    if (trial.last) seen_.marked = trial.position;
    trials.push_back(trial);
    trials.back().experiment = row_.id;
    return true;
  }));
  if (!trials.empty()) value_of(to.add_trials(trials));
}

void Intake::add_others(store::Store& to) {
  std::vector<store::Build> builds;
  std::size_t bytes = 0;
  constexpr std::int64_t one_too_many = in_one_go.others + 1;
  of_parts(from_->for_each_build(part_, one_too_many, [&](const store::Build& build) {
    bytes += store::bytes_of(build);
    check_part(builds.size(), in_one_go.others, bytes);
    check_benchmark(build.benchmark);
    count("build", store::to_row(build));
    builds.push_back(build);
    builds.back().experiment = row_.id;
    return true;
  }));
  std::vector<store::Event> events;
  bytes = 0;
  of_parts(from_->for_each_event(part_, [&](const store::Event& event) {
    bytes += store::bytes_of(event);
    check_part(events.size(), in_one_go.others, bytes);
    check_event(event);
    count("event", store::to_row(event));
    events.push_back(event);
    events.back().experiment = row_.id;
    return true;
  }));
  if (!builds.empty() || !events.empty()) value_of(to.add_builds_and_events(builds, events));
}

// Goes on to the next part. After the last part, makes the experiment visible.
bool Intake::go_on(store::Store& to) {
  if (of_parts(from_->experiment(part_ + 1))) {
    ++part_;
    stage_ = Stage::trials;
    return true;
  }
  if (receiver_.believed) {
    std::vector<store::Calibration> calibrations;
    of_parts(from_->for_each_calibration(machine_, [&](const store::Calibration& each) {
      count("calibration", store::to_row(each));
      calibrations.push_back(each);
      return true;
    }));
    add_calibrations(std::move(calibrations), row_.machine, to);
  }
  store::Experiment shown = row_;
  shown.state = state_;
  value_of(to.update_experiment(shown));
  return false;
}

store::Outcome<bool> Intake::step(store::Store& to) {
  from_->renew_time();
  const Seen before = seen_;  // in case the step is done again
  try {
    if (stage_ == Stage::end_of_part) return go_on(to);
    if (stage_ == Stage::row)
      begin(to);
    else if (stage_ == Stage::trials)
      add_trials(to);
    else
      add_others(to);
  } catch (const Refused& why) {
    seen_ = before;
    return std::unexpected(store::StoreError{.message = without_parts(parts_, why.what()),
                                             .temporary = why.temporary});
  } catch (const std::exception& why) {
    // The caller's loop is written in C, so nothing may be thrown through it.
    return std::unexpected(
        store::StoreError{.message = fmt::format("stabd cannot import this: {}", why.what())});
  }
  stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1);
  return true;
}

}  // namespace stab::archive
