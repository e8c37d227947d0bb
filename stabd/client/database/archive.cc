// SPDX-License-Identifier: MIT
// A whole experiment as a file, which is a database of stabd that holds nothing else.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <type_traits>

#include "base/clock.h"
#include "base/text.h"
#include "plan/reading/reader.h"
#include "stabd/client/database/database_verbs.h"
#include "stabd/client/output.h"
#include "stabd/results/trials.h"
#include "stabd/upkeep/upkeep.h"
#include "store/copy.h"
#include "toml/problems.h"

namespace stab::client {
namespace {

constexpr std::size_t trials_at_once = 200;
constexpr std::array<std::string_view, 3> final_states{"done", "failed", "cancelled"};

// Why there is no archive or no import; thrown in here only.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Refused(why);
}

template <class T>
T value_of(store::Outcome<T> outcome) {
  if (!outcome) refuse(outcome.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

store::Id copy_machine(store::Reader& from, store::Id machine, store::Store& to) {
  if (machine == 0) return 0;
  const auto found = value_of(from.machine(machine));
  if (!found) refuse("the row of its machine is not there");
  const store::Id copy = value_of(to.add_machine(*found));
  auto calibrations = value_of(from.calibrations(machine));
  // What is known here stays as it is.
  const auto known = value_of(to.calibrations(copy));
  std::erase_if(calibrations, [&](const store::Calibration& each) {
    return std::ranges::any_of(known, [&](const store::Calibration& here) {
      return here.at_ns == each.at_ns && here.name == each.name && here.scope == each.scope &&
             here.benchmark == each.benchmark;
    });
  });
  for (store::Calibration& each : calibrations) {
    each.machine = copy;
    each.experiment = 0;
  }
  value_of(to.add_calibrations(calibrations));
  return copy;
}

void copy_trials(store::Reader& from, const store::Experiment& source, store::Store& to,
                 store::Id target) {
  std::vector<store::Trial> some;
  const auto store_some = [&] {
    value_of(to.add_trials(some));
    some.clear();
  };
  value_of(stab::results::for_each_trial(from, source, [&](const store::Trial& trial) {
    if (trial.position >= source.trials)
      refuse(fmt::format("trial {} is not one of its {}", trial.position, source.trials));
    some.push_back(trial);
    some.back().experiment = target;
    if (some.size() == trials_at_once) store_some();
    return true;
  }));
  store_some();
}

// Nobody sees the copy until it is complete; one that is not goes when its database is used next.
// `row`: as it is to be. `said`: its last event.
store::Id copy_experiment(store::Reader& from, const store::Experiment& source, store::Store& to,
                          store::Experiment row, store::Event said) {
  row.machine = copy_machine(from, source.machine, to);
  const std::string state = row.state;
  row.state = store::being_removed;
  row.id = value_of(to.add_experiment(row));
  for (store::Build& each : value_of(from.builds(source.id))) {
    each.experiment = row.id;
    value_of(to.add_build(each));
  }
  copy_trials(from, source, to, row.id);
  for (store::Event& each : value_of(from.events(source.id))) {
    each.experiment = row.id;
    value_of(to.add_event(each));
  }
  said.experiment = row.id;
  value_of(to.add_event(said));
  row.state = state;
  value_of(to.update_experiment(row));
  return row.id;
}

bool has_ended(const store::Experiment& experiment) {
  return std::ranges::find(final_states, experiment.state) != final_states.end();
}

// Beside this file; it goes with what it holds.
class Scratch {
 public:
  explicit Scratch(const std::string& file) : path_(file + ".XXXXXX") {
    if (mkdtemp(path_.data()) == nullptr)
      refuse(fmt::format("cannot make a folder beside {}: {}", file, std::strerror(errno)));
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  [[nodiscard]] std::string database() const { return path_ + "/stabd.db"; }

 private:
  std::string path_;
};

void write_archive(const std::string& database, std::int64_t id, const std::string& file) {
  const auto from = value_of(store::Reader::open(database));
  const auto found = value_of(from->experiment(id));
  if (!found) refuse(fmt::format("there is no experiment {} in it", id));
  if (!has_ended(*found))
    refuse(fmt::format("experiment {} has not ended yet, it is {}", id, found->state));
  const Scratch scratch(file);
  const std::string made = scratch.database();
  copy_experiment(*from, *found, *value_of(store::Store::open(made)), *found,
                  {.at_ns = wall_clock_ns(),
                   .kind = "export",
                   .text = fmt::format("written to an archive from experiment {} of {}", id,
                                       one_line(database, 500))});
  if (!value_of(store::back_up(made, file)).empty()) refuse("the copy is damaged: try again");
}

// What can be wrong with a file that somebody else made.
store::Experiment only_experiment(store::Reader& archive) {
  for (const store::Damage& each : value_of(archive.verify()))
    refuse(
        fmt::format("it is damaged: row {} of table {}: {}", each.row, each.table, each.problem));
  const auto experiments = value_of(archive.experiments());
  if (experiments.intact.size() != 1 || !experiments.damaged.empty())
    refuse(
        fmt::format("it holds {} experiments and is no archive of one: make one with 'stabctl "
                    "export ID --archive FILE'",
                    experiments.intact.size() + experiments.damaged.size()));
  const store::Experiment& experiment = experiments.intact.front();
  if (!has_ended(experiment))
    refuse(fmt::format("its experiment has not ended, it is {}", one_line(experiment.state, 50)));
  if (const auto plan = plan::read_plan(experiment.plan); !plan)
    refuse("this version refuses its plan: " + toml::describe(plan.error(), "plan"));
  return experiment;
}

store::Id read_archive(const std::string& file, const std::string& database, store::Store& to) {
  const Scratch scratch(database + ".import");
  const bool is_old = value_of(store::copy_of_this_version(file, scratch.database()));
  const auto archive = value_of(store::Reader::open(is_old ? scratch.database() : file));
  const store::Experiment source = only_experiment(*archive);
  store::Experiment row = source;
  row.uid = geteuid();
  row.gid = getegid();
  row.priority = 0;
  row.held_by.reset();
  return copy_experiment(
      *archive, source, to, row,
      {.at_ns = wall_clock_ns(),
       .kind = "import",
       .text = fmt::format("imported from {} by user {}", one_line(file, 500), geteuid())});
}

// What of it could not be removed, in words, or nothing.
std::string remove_unfinished(store::Store& store) {
  upkeep::Upkeep upkeep(store);
  auto done = upkeep.load();
  while (done && upkeep.has_work()) done = upkeep.step();
  return done ? "" : "; what is there of it goes when a stabd starts: " + done.error().message;
}

}  // namespace

Result<int> export_archive(const Common& common, std::int64_t id, const std::string& file) {
  const auto database = database_of(common);
  if (!database) return std::unexpected(database.error());
  if (access(database->c_str(), R_OK) != 0)
    return fail_errno(fmt::format(
        "cannot read {}, of which only root and the user of stabd make archives", *database));
  try {
    write_archive(*database, id, file);
  } catch (const Refused& why) {
    return fail(fmt::format("there is no archive: {}", why.what()));
  }
  if (common.json)
    fmt::print("{{\"id\":{}}}\n", id);
  else
    fmt::print("{} holds experiment {}; 'stabctl import' reads it\n", for_terminal(file), id);
  return exit_ok;
}

Result<int> import_archive(const Common& common, const std::string& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error))
    return fail(fmt::format("there is no file {}", file));
  umask(077);  // a database is its user's business
  std::filesystem::create_directories(common.state, error);
  auto store = store::Store::open(database_named(common.state));
  if (!store) return fail(store.error().message);
  remove_unfinished(**store);  // of an import or a removal that was killed
  store::Id id = 0;
  try {
    id = read_archive(file, database_named(common.state), **store);
  } catch (const Refused& why) {
    return fail(
        fmt::format("{} is not imported: {}{}", file, why.what(), remove_unfinished(**store)));
  }
  if (common.json)
    fmt::print("{{\"id\":{}}}\n", id);
  else
    fmt::print("it is experiment {} of {}\n", id, for_terminal(common.state));
  return exit_ok;
}

}  // namespace stab::client
