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
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "plan/reading/read_plan.h"
#include "plan/texts.h"
#include "protocol/codec.h"
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

// The functions below throw it; `temporary` as in StoreError.
struct Refused : std::runtime_error {
  explicit Refused(const std::string& why, bool passes = false)
      : std::runtime_error(why), temporary(passes) {}
  bool temporary;
};

[[noreturn]] void refuse(const std::string& why) {
  throw Refused(why);
}

template <class T>
T value_of(store::Outcome<T> outcome) {
  if (!outcome) throw Refused(outcome.error().message, outcome.error().temporary);
  if constexpr (!std::is_void_v<T>) return std::move(*outcome);
}

constexpr std::array<std::string_view, 3> final_states{"done", "failed", "cancelled"};

bool has_ended(const store::Experiment& experiment) {
  return std::ranges::find(final_states, experiment.state) != final_states.end();
}

// Adds the rows of an experiment to an archive.
class Copy {
 public:
  Copy(store::Store& to, store::Id experiment) : to_(to), experiment_(experiment) {}

  void add(store::Trial trial) {
    constexpr std::size_t in_one_transaction = 200;
    trial.experiment = experiment_;
    trials_.push_back(std::move(trial));
    if (trials_.size() == in_one_transaction) finish();
  }
  void add(store::Build build) {
    build.experiment = experiment_;
    value_of(to_.add_build(build));
  }
  void add(store::Event event) {
    event.experiment = experiment_;
    value_of(to_.add_event(event));
  }
  void finish() {
    value_of(to_.add_trials(trials_));
    trials_.clear();
  }

 private:
  store::Store& to_;
  store::Id experiment_;
  std::vector<store::Trial> trials_;
};

// A table in the order of P1.
struct Table {
  std::string_view name;
  store::Row (*empty_row)();  // its columns are NULL
};

template <class Record>
store::Row empty_row() {
  static const store::Row made = [] {
    store::Row row = store::to_row(Record());
    const auto values = row.values();
    for (const auto& [column, value] : values) row.set_value(column, {});
    return row;
  }();
  return made;
}

enum TableOrder : std::size_t {
  of_machine,
  of_experiment,
  of_builds,
  of_trials,
  of_events,
  of_calibrations
};
constexpr std::array tables{Table{"machine", empty_row<store::Machine>},
                            Table{"experiment", empty_row<store::Experiment>},
                            Table{"build", empty_row<store::Build>},
                            Table{"trial", empty_row<store::Trial>},
                            Table{"event", empty_row<store::Event>},
                            Table{"calibration", empty_row<store::Calibration>}};

// The columns with ids (P2).
constexpr std::array<std::string_view, 2> columns_of_ids{"experiment", "machine"};

// A byte of a text takes at most six in JSON.
constexpr std::size_t most_of_piece = 10'000;
static_assert(6 * most_of_piece + 1000 < protocol::most_decoded);

// The beginning of the text that fits into a line; it does not end within a character.
std::string_view first_piece(std::string_view text) {
  if (text.size() <= most_of_piece) return text;
  std::size_t end = most_of_piece;
  while (end > most_of_piece - 3 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) --end;
  return text.substr(0, end);
}

std::string line_with(std::string_view table, const store::Row& row) {
  protocol::json columns = protocol::json::object();
  for (const auto& each : row.values())
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (!std::is_same_v<T, std::monostate>) columns[each.first] = value;
        },
        each.second);
  protocol::json part;
  part["table"] = table;
  part["row"] = std::move(columns);
  return protocol::dump(part);
}

// Writes the parts of an archive (P1 to P3). The caller keeps the order.
class Parts {
 public:
  explicit Parts(const std::string& path)
      : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600)) {
    if (!file_) refuse(fmt::format("cannot make a file for its parts: {}", std::strerror(errno)));
  }

  void add(const store::Machine& machine) { add("machine", store::to_row(machine)); }
  void add(const store::Experiment& experiment) { add("experiment", store::to_row(experiment)); }
  void add(const store::Build& build) { add("build", store::to_row(build)); }
  void add(const store::Trial& trial) { add("trial", store::to_row(trial)); }
  void add(const store::Event& event) { add("event", store::to_row(event)); }
  void add(const store::Calibration& each) { add("calibration", store::to_row(each)); }
  void end() {
    put(R"({"end":true})");
    flush();
  }

 private:
  void add(std::string_view table, store::Row row) {
    for (const std::string_view column : columns_of_ids)
      if (row.values().contains(column)) row.set_value(column, {});
    std::string line = line_with(table, row);
    for (; line.size() > protocol::most_decoded; line = line_with(table, row))
      put_longest_text(table, row);
    put(line);
  }
  // Writes the pieces of the row's longest text, which becomes NULL.
  void put_longest_text(std::string_view table, store::Row& row) {
    std::string column;
    std::string longest;
    for (const auto& [name, value] : row.values())
      if (const auto* text = std::get_if<std::string>(&value);
          text != nullptr && text->size() > longest.size()) {
        column = name;
        longest = *text;
      }
    if (longest.empty()) refuse(fmt::format("a row of table {} is too large", table));
    for (std::string_view rest(longest); !rest.empty();) {
      const std::string_view piece = first_piece(rest);
      protocol::json part;
      part["table"] = table;
      part["column"] = column;
      part["text"] = piece;
      put(protocol::dump(part));
      rest.remove_prefix(piece.size());
    }
    row.set_value(column, {});
  }
  void put(std::string_view line) {
    constexpr std::size_t enough = std::size_t{256} << 10;
    waiting_ += line;
    waiting_ += '\n';
    if (waiting_.size() >= enough) flush();
  }
  void flush() {
    if (auto written = write_all(file_.get(), waiting_); !written)
      refuse("cannot store its parts: " + written.error().message);
    waiting_.clear();
  }

  Fd file_;
  std::string waiting_;
};

// Passes the experiment's rows on. `said` becomes the last event.
template <class To>
void pass_rows_on(store::Reader& from, const store::Experiment& source, const store::Event& said,
                  To& to) {
  for (const store::Build& each : value_of(from.builds(source.id))) to.add(each);
  value_of(results::for_each_trial(from, source, [&](const store::Trial& trial) {
    if (trial.position >= source.trials)
      refuse(fmt::format(
          "there is a trial at position {} (counted from 0), but the experiment has only {} trials",
          trial.position, source.trials));
    to.add(trial);
    return true;
  }));
  for (const store::Event& each : value_of(from.events(source.id))) to.add(each);
  to.add(said);
}

std::optional<store::Machine> machine_of(store::Reader& from, const store::Experiment& experiment) {
  if (experiment.machine == 0) return std::nullopt;
  auto found = value_of(from.machine(experiment.machine));
  if (!found) refuse("the row of the experiment's machine is missing");
  return found;
}

// Adds these calibrations to a machine of `to`. Rows that `to` has already stay as they are. The
// new rows have no experiment, so they count for every user (results/calibrations.h).
void add_calibrations(std::vector<store::Calibration> calibrations, store::Id machine,
                      store::Store& to) {
  if (calibrations.empty()) return;
  const auto key = [](const store::Calibration& each) {
    return std::tuple(each.at_ns, each.name, each.scope, each.benchmark);
  };
  std::set<decltype(key(store::Calibration()))> known;
  for (const store::Calibration& each : value_of(to.calibrations(machine))) known.insert(key(each));
  std::erase_if(calibrations,
                [&](const store::Calibration& each) { return known.contains(key(each)); });
  for (store::Calibration& each : calibrations) {
    each.machine = machine;
    each.experiment = 0;
  }
  value_of(to.add_calibrations(calibrations));
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
    if (const auto machine = machine_of(*from, *found))
      row.machine = value_of(to->add_machine(*machine));
    add_calibrations(calibrations_for_all(*from, found->machine, database), row.machine, *to);
    Copy copy(*to, value_of(to->add_experiment(row)));
    pass_rows_on(
        *from, *found,
        {.at_ns = wall_clock_ns(),
         .kind = "export",
         .text = fmt::format("experiment {} of the database {} was written to this archive", id,
                             one_line(database, 500))},
        copy);
    copy.finish();
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
              const store::Reader::Confine& confine, Parts& parts) {
  const auto archive = value_of(store::Reader::open_of_others(file, confine));
  const store::Experiment source = only_experiment(*archive);
  if (const auto machine = machine_of(*archive, source)) parts.add(*machine);
  parts.add(source);
  pass_rows_on(*archive, source,
               {.at_ns = wall_clock_ns(),
                .kind = std::string(store::imported),
                .text = fmt::format("imported from {} by user {}", one_line(receiver.name, 500),
                                    receiver.uid)},
               parts);
  for (const store::Calibration& each : value_of(archive->calibrations(source.machine)))
    parts.add(each);
  parts.end();
}

}  // namespace

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

}  // namespace

Result<void> take_apart(const std::string& file, const Receiver& receiver, const std::string& parts,
                        const store::Reader::Confine& confine) {
  try {
    Parts made(parts);
    separate(file, receiver, confine, made);
  } catch (const std::exception& why) {
    const std::string words = file == receiver.name ? why.what() : without(file, "it", why.what());
    return fail(fmt::format("{} is not imported: {}", one_line(receiver.name, 500), words));
  }
  return {};
}

namespace {

// The most that a step of an Intake reads and stores, because clients wait meanwhile.
constexpr std::size_t rows_of_step = 100;
constexpr std::size_t bytes_of_step = std::size_t{256} << 10;

constexpr const char* ends_early = "the archive's parts end before their last line";

void check_benchmark(const std::string& name) {
  if (!plan::is_name(name))
    refuse(fmt::format("{} is not the name of a benchmark", one_line(name, 100)));
}

const std::string& text_at(const protocol::Parsed& part, const char* key) {
  const auto found = part.find(key);
  const auto* const text = found == part.end() ? nullptr : found->get_ptr<const std::string*>();
  if (text == nullptr) refuse("a line of the archive's parts does not have stabd's format");
  return *text;
}

store::Value value_in(const protocol::Parsed& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_float()) return value.get<double>();
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && !std::in_range<std::int64_t>(value.get<std::uint64_t>())))
    refuse(fmt::format("the archive's parts have a value that no column stores: {}",
                       protocol::shown(value)));
  return value.get<std::int64_t>();
}

// The most bytes of the column's texts; nothing if it has no texts.
std::optional<std::int64_t> most_text(std::string_view table, std::string_view column) {
  for (const store::TextBound& each : store::text_bounds())
    if (each.table == table && each.column == column) return each.most;
  return std::nullopt;
}

// The row's record. Refuses a row that stabd does not make of it, because then a number is too
// large for its member, or a text has another form (I2).
template <class Record>
Record record_of(const store::Row& row, Record (*decode)(const store::Row&),
                 std::string_view table) {
  Record record = decode(row);
  const store::Row same = store::to_row(record);
  for (const auto& [column, value] : same.values())
    if (row.values().at(column) != value)
      refuse(fmt::format("the column {} of table {} has a value that stabd does not store", column,
                         table));
  return record;
}

}  // namespace

store::Outcome<Intake> Intake::open(const std::string& parts, Receiver receiver) {
  // Without O_NONBLOCK a pipe would stop the caller's loop.
  Fd file(::open(parts.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0)
    return std::unexpected(store::StoreError{
        .message = fmt::format("cannot read the archive's parts: {}", std::strerror(errno))});
  if (!S_ISREG(status.st_mode))
    return std::unexpected(store::StoreError{.message = "the archive's parts are not a file"});
  return Intake(std::move(file), static_cast<std::uint64_t>(status.st_size), std::move(receiver));
}

Intake::Intake(Fd file, std::uint64_t bytes, Receiver receiver)
    : file_(std::move(file)),
      bytes_(bytes),
      lines_(protocol::most_decoded),
      receiver_(std::move(receiver)) {}

std::string Intake::next_line() {
  const auto refuse_longer = [] {
    refuse(fmt::format("a line of the archive's parts is longer than {}",
                       format_bytes(protocol::most_decoded)));
  };
  for (;;) {
    if (auto line = lines_.next()) {
      if (line->size() > protocol::most_decoded) refuse_longer();
      taken_ += line->size() + 1;
      return std::move(*line);
    }
    const auto piece = read_piece(file_, protocol::most_decoded);
    if (!piece) refuse("cannot read the archive's parts: " + piece.error().message);
    if (piece->empty()) refuse(ends_early);
    if (!lines_.add(*piece)) refuse_longer();
  }
}

void Intake::read_some() {
  // After a temporary error the same rows are stored again.
  if (waiting_.rows > 0 || has_ended_) return;
  const auto must_begin = [this] { return table_ > of_experiment && row_.id == 0; };
  for (std::size_t bytes = 0;
       bytes < bytes_of_step && waiting_.rows < rows_of_step && !has_ended_ && !must_begin();) {
    const std::string line = next_line();
    bytes += line.size();
    take_line(line);
  }
}

void Intake::take_line(const std::string& line) {
  const auto part = protocol::parse(line);
  if (!part) refuse("a line of the archive's parts is not JSON: " + part.error().message);
  static const protocol::Parsed last = {{"end", true}};
  if (*part == last) {
    if (table_ <= of_experiment || !texts_.empty()) refuse(ends_early);
    if (taken_ != bytes_) refuse("the archive's parts go on behind their last line");
    has_ended_ = true;
    return;
  }
  take_table(text_at(*part, "table"));
  const auto row = part->find("row");
  if (row != part->end() && row->is_object() && part->size() == 2) return take_row(*row);
  const std::string& column = text_at(*part, "column");
  const auto most = most_text(tables.at(table_).name, column);
  if (!most || part->size() != 3)
    refuse(fmt::format("the archive's parts have a text of the table {} that stabd does not store",
                       tables.at(table_).name));
  std::string& text = texts_[column];
  text += text_at(*part, "text");
  if (std::cmp_greater(text.size(), *most))
    refuse(fmt::format("the column {} of table {} holds {}, but at most {} are allowed", column,
                       tables.at(table_).name, format_bytes(text.size()),
                       format_bytes(static_cast<std::uint64_t>(*most))));
}

// P1 and P3.
void Intake::take_table(std::string_view name) {
  const auto found = std::ranges::find(tables, name, &Table::name);
  if (found == tables.end())
    refuse(fmt::format("the archive's parts have rows of a table {}, which stabd does not import",
                       one_line(name, 100)));
  const auto place = static_cast<std::size_t>(found - tables.begin());
  const bool skips_experiment = place > of_experiment && table_ <= of_experiment;
  if (place < table_ || skips_experiment || (place != table_ && !texts_.empty()))
    refuse(fmt::format("the archive's parts have a row of the table {} in the wrong place", name));
  if (place != table_) begin_table(place);
}

void Intake::begin_table(std::size_t place) {
  table_ = place;
  sum_ = {};
}

void Intake::take_row(const protocol::Parsed& columns) {
  const Table& table = tables.at(table_);
  store::Row row = table.empty_row();
  for (const auto& [column, text] : std::exchange(texts_, {})) row.set(column, text);
  for (const auto& [column, value] : columns.items()) {
    const auto known = row.values().find(column);
    if (known == row.values().end() || !std::holds_alternative<std::monostate>(known->second) ||
        std::ranges::find(columns_of_ids, column) != columns_of_ids.end())
      refuse(
          fmt::format("the archive's parts give a row of the table {} the column {}, which "
                      "stabd does not expect there",
                      table.name, one_line(column, 100)));
    row.set_value(column, value_in(value));
  }
  count(row);
  switch (table_) {
    case of_machine:
      machine_ = record_of(row, store::to_machine, table.name);
      if (!receiver_.believed) machine_->key += fmt::format("-imported-by-{}", receiver_.uid);
      break;
    case of_experiment:
      row.set("id", std::int64_t{0});
      take_experiment(record_of(row, store::to_experiment, table.name));
      break;
    case of_builds:
      row.set("experiment", row_.id);
      waiting_.builds.push_back(record_of(row, store::to_build, table.name));
      check_benchmark(waiting_.builds.back().benchmark);
      break;
    case of_trials:
      row.set("experiment", row_.id);
      take_trial(record_of(row, store::to_trial, table.name));
      break;
    case of_events:
      row.set("experiment", row_.id);
      waiting_.events.push_back(record_of(row, store::to_event, table.name));
      check_event(waiting_.events.back());
      break;
    default:
      if (row_.machine == 0) refuse("the archive's parts have a calibration without its machine");
      row.set("machine", row_.machine);
      auto calibration = record_of(row, store::to_calibration, table.name);
      if (receiver_.believed) calibrations_.push_back(std::move(calibration));
  }
  ++waiting_.rows;
  waiting_.bytes += static_cast<std::uint64_t>(row.bytes());
  // There is one machine and one experiment.
  if (table_ <= of_experiment) begin_table(table_ + 1);
}

void Intake::count(const store::Row& row) {
  const std::string_view table = tables.at(table_).name;
  if (const std::string why = store::refusal_of(table, row); !why.empty()) refuse(why);
  ++sum_.rows;
  for (const auto& [column, value] : row.values())
    if (const auto* text = std::get_if<std::string>(&value))
      sum_.bytes += static_cast<std::int64_t>(text->size());
  // take_apart() has added an event.
  constexpr std::int64_t added_rows = 1;
  constexpr std::int64_t added_bytes = 4096;
  for (const store::TableBound& most : store::table_bounds())
    if (most.table == table &&
        (sum_.rows > most.rows + added_rows || sum_.bytes > most.bytes + added_bytes))
      refuse(fmt::format("the table {} of the archive is too large", table));
}

void Intake::take_experiment(store::Experiment experiment) {
  check_experiment(experiment);
  if (one_line(experiment.name, experiment.name.size()) != experiment.name)
    refuse("the experiment's name is not a single line");
  row_ = std::move(experiment);
  row_.uid = receiver_.uid;
  row_.gid = receiver_.gid;
  row_.priority = 0;
  row_.held_by.reset();
  state_ = std::exchange(row_.state, std::string(store::being_removed));
}

void Intake::take_trial(store::Trial trial) {
  check_benchmark(trial.benchmark);
  if (const std::string why = store::refusal_of(trial); !why.empty()) refuse(why);
  if (trial.position >= row_.trials) refuse("there is a trial beyond the experiment's last one");
  const std::pair place(trial.position, trial.attempt);
  if (trial_ && place <= *trial_)
    refuse(fmt::format("the archive's parts have attempt {} at trial {} in the wrong place",
                       trial.attempt, trial.position));
  trial_ = place;
  // The store is told that no earlier attempt has the mark (store_what_waits()).
  if (trial.last && marked_ == trial.position)
    refuse(fmt::format("two attempts at trial {} have the mark 'last'", trial.position));
  if (trial.last) marked_ = trial.position;
  waiting_.trials.push_back(std::move(trial));
}

void Intake::store_what_waits(store::Store& to) {
  if (table_ > of_experiment && row_.id == 0) {
    if (machine_) row_.machine = value_of(to.add_machine(*machine_));
    row_.id = value_of(to.add_experiment(row_));
  }
  // Forged parts may have any number of attempts at one trial, so the store must not look at them.
  if (!waiting_.trials.empty())
    value_of(to.add_trials(waiting_.trials, store::Store::Earlier::are_not_marked));
  waiting_.trials.clear();
  if (!waiting_.builds.empty() || !waiting_.events.empty())
    value_of(to.add_builds_and_events(waiting_.builds, waiting_.events));
  waiting_ = {};
  if (!has_ended_) return;
  add_calibrations(calibrations_, row_.machine, to);
  store::Experiment shown = row_;
  shown.state = state_;
  value_of(to.update_experiment(shown));
}

store::Outcome<bool> Intake::step(store::Store& to, const MayStore& may_store) {
  try {
    read_some();
    if (may_store && waiting_.bytes > 0)
      if (const auto may = may_store(waiting_.bytes); !may) refuse(may.error().message);
    store_what_waits(to);
    return !has_ended_;
  } catch (const Refused& why) {
    return std::unexpected(store::StoreError{.message = why.what(), .temporary = why.temporary});
  } catch (const std::exception& why) {
    // The caller's loop is written in C, so nothing may be thrown through it.
    return std::unexpected(store::StoreError{
        .message = fmt::format("stabd cannot import this: {}", one_line(why.what(), 500))});
  }
}

}  // namespace stab::archive
