// SPDX-License-Identifier: MIT

#include "machine/quiet/quiet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <utility>

#include "base/fd.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/quiet/knobs.h"

namespace stab::machine {
namespace {

using nlohmann::json;

constexpr std::size_t largest_log = 16 << 20;

// The first line names the boot. Each other line is a change, or says that the newest change of a
// file is forgotten. Each line ends with a digest of its text.
std::string sealed(const json& line) {
  const std::string text = json_text(line);
  return fmt::format("{} {}\n", text, sha256_hex(text).substr(0, 16));
}

std::optional<json> opened(std::string_view line) {
  const auto space = line.rfind(' ');
  if (space == std::string_view::npos) return std::nullopt;
  const std::string text(line.substr(0, space));
  if (sha256_hex(text).substr(0, 16) != line.substr(space + 1)) return std::nullopt;
  json parsed = json::parse(text, nullptr, false);
  if (!parsed.is_object()) return std::nullopt;
  return parsed;
}

std::optional<Change> change_in(std::string_view line) {
  const auto object = opened(line);
  if (!object) return std::nullopt;
  const auto text = [&](const char* name) { return object->value(name, std::string()); };
  const KnobFiles* files = files_of(text("knob"), text("file"));
  if (files == nullptr) return std::nullopt;  // invariant 5
  return Change{.knob = text("knob"),
                .file = text("file"),
                .found = text("found"),
                .set = text("set"),
                .form = files->form};
}

std::optional<std::string> forgotten_in(std::string_view line) {
  const auto object = opened(line);
  if (!object || !object->contains("forgotten")) return std::nullopt;
  return object->value("forgotten", std::string());
}

Result<void> sync_folder(const std::filesystem::path& folder) {
  const Fd fd(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || fsync(fd.get()) != 0)
    return fail_errno(fmt::format("cannot write {}", folder.string()));
  return {};
}

}  // namespace

Result<UndoLog> UndoLog::open(const std::string& path, const std::string& root) {
  const auto boot = read_file(root + "/proc/sys/kernel/random/boot_id", 100);
  if (!boot) return std::unexpected(boot.error());
  const auto folder = std::filesystem::path(path).parent_path();
  // Other users must not be able to read the log, because a reader could lock it.
  const mode_t before = umask(077);
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  umask(before);
  if (error) return fail(fmt::format("cannot make {}: {}", folder.string(), error.message()));
  Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_APPEND, 0600));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path));
  if (flock(fd.get(), LOCK_EX | LOCK_NB) != 0)
    return fail(fmt::format("{} is in use: another process keeps this machine quiet", path));
  if (auto synced = sync_folder(folder); !synced) return std::unexpected(synced.error());
  if (made)
    if (auto synced = sync_folder(folder.parent_path()); !synced)
      return std::unexpected(synced.error());
  UndoLog log(std::move(fd), path, value_in(*boot, Form::word));
  if (auto read = log.read(); !read) return std::unexpected(read.error());
  return log;
}

Result<void> UndoLog::read() {
  const auto content = read_file(path_, largest_log);
  if (!content) return std::unexpected(content.error());
  std::string_view rest = *content;
  for (bool first = true; !rest.empty(); first = false) {
    const auto end = rest.find('\n');
    if (end == std::string_view::npos) {
      // The process that wrote this line died before it changed the machine (invariant 1).
      if (ftruncate(fd_.get(), static_cast<off_t>(content->size() - rest.size())) != 0)
        return fail_errno(fmt::format("cannot write {}", path_));
      break;
    }
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    if (first) {
      const auto head = opened(line);
      if (head && head->value("boot", std::string()) != boot_) return clear();  // invariant 4
      damaged_ += head ? 0 : 1;
    } else if (const auto file = forgotten_in(line)) {
      drop_newest_of(*file);
    } else if (auto change = change_in(line)) {
      changes_.push_back(std::move(*change));
    } else {
      ++damaged_;
    }
  }
  return {};
}

Result<void> UndoLog::add(std::span<const Change> changes) {
  std::string lines = lseek(fd_.get(), 0, SEEK_END) == 0 ? sealed({{"boot", boot_}}) : "";
  for (const Change& change : changes)
    lines += sealed({{"knob", change.knob},
                     {"file", change.file},
                     {"found", change.found},
                     {"set", change.set}});
  if (auto written = append(lines); !written) return written;
  changes_.insert(changes_.end(), changes.begin(), changes.end());
  return {};
}

Result<void> UndoLog::append(const std::string& lines) {
  if (auto written = write_all(fd_.get(), lines); !written)
    return fail(fmt::format("{}: {}", path_, written.error().message));
  if (fsync(fd_.get()) != 0) return fail_errno(fmt::format("cannot write {}", path_));
  return {};
}

void UndoLog::drop_newest_of(const std::string& file) {
  const auto newest = std::find_if(changes_.rbegin(), changes_.rend(),
                                   [&](const Change& change) { return change.file == file; });
  if (newest != changes_.rend()) changes_.erase(std::next(newest).base());
}

Result<void> UndoLog::forget(std::span<const Change> changes) {
  std::string lines;
  for (const Change& change : changes) lines += sealed({{"forgotten", change.file}});
  if (auto written = append(lines); !written) return written;
  for (const Change& change : changes) drop_newest_of(change.file);
  return {};
}

UndoLog::Mark UndoLog::mark() const {
  return {.changes = changes_.size(), .size = lseek(fd_.get(), 0, SEEK_END)};
}

Result<void> UndoLog::back_to(Mark mark) {
  if (ftruncate(fd_.get(), mark.size) != 0 || fsync(fd_.get()) != 0)
    return fail_errno(fmt::format("cannot truncate {}", path_));
  changes_.resize(mark.changes);
  return {};
}

Result<void> UndoLog::clear() {
  if (ftruncate(fd_.get(), 0) != 0 || fsync(fd_.get()) != 0)
    return fail_errno(fmt::format("cannot empty {}", path_));
  changes_.clear();
  damaged_ = 0;
  return {};
}

Result<std::string> UndoLog::set_aside() const {
  const std::string copy = path_ + ".damaged";
  const auto content = read_file(path_, largest_log);
  if (!content) return std::unexpected(content.error());
  if (auto written = write_file_atomically(copy, *content); !written)
    return std::unexpected(written.error());
  return copy;
}

namespace {

using What = Outcome::What;

// Uses a single write, which the kernel accepts completely or not at all. Does not truncate, so
// that nobody sees a test's stand-in for a kernel file empty; only the first line of such a file
// counts.
Result<void> write_setting(const std::string& path, const std::string& value) {
  // Without O_NONBLOCK, open() would hang on a FIFO that nobody reads.
  const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path));
  const std::string line = value + "\n";
  const ssize_t n = write(fd.get(), line.data(), line.size());
  if (n < 0) return fail_errno(fmt::format("{} does not accept {}", path, value));
  if (static_cast<std::size_t>(n) != line.size())
    return fail(fmt::format("{} does not accept {}", path, value));
  return {};
}

// Writes a value and verifies it.
Result<void> set(const std::string& path, const std::string& value, Form form) {
  const auto written = form == Form::folder ? confine(path, value) : write_setting(path, value);
  if (!written) return written;
  const auto now = read_value(path, form);
  if (!now) return std::unexpected(now.error());
  if (!same_value(*now, value, form))
    return fail(fmt::format("{} contains {}, although {} was written to it", path, *now, value));
  return {};
}

Outcome outcome_of(const Setting& setting, std::string_view knob) {
  Outcome outcome{.knob = std::string(knob),
                  .file = setting.file,
                  .what = What::quiet,
                  .found = setting.found,
                  .value = setting.found,
                  .reason = setting.error};
  if (!setting.error.empty()) outcome.what = What::refused;
  return outcome;
}

Outcome absence_of(std::string_view knob) {
  return {.knob = std::string(knob),
          .file = {},
          .what = What::absent,
          .found = {},
          .value = {},
          .reason = "this machine has no such setting"};
}

// Changes a setting. If that fails, reverts it at once.
void change(Outcome& outcome, const Setting& setting, const std::string& root) {
  if (auto done = set(root + setting.file, setting.quiet, setting.form); done) {
    outcome.what = What::changed;
    outcome.value = setting.quiet;
    return;
  } else {
    outcome.what = What::refused;
    outcome.reason = done.error().message;
  }
  const auto now = read_value(root + setting.file, setting.form);
  if (now && !same_value(*now, setting.found, setting.form))
    (void)set(root + setting.file, setting.found, setting.form);
}

// Holds the file even if its value is quiet already, because that may depend on another process
// that holds it.
void hold(Outcome& outcome, const Setting& setting, const std::string& root, Held* held) {
  const auto done = held == nullptr
                        ? fail(
                              "this setting takes effect only while a process keeps the setting's "
                              "file open, as stabd does during an experiment")
                        : held->hold(setting, outcome.knob, root);
  if (!done) {
    outcome.what = What::refused;
    outcome.reason = done.error().message;
  } else if (!setting.is_quiet()) {
    outcome.what = What::changed;
    outcome.value = setting.quiet;
  }
}

// Implements invariant 2.
Outcome put_back(const Change& made, const std::string& root) {
  Outcome outcome{.knob = made.knob,
                  .file = made.file,
                  .what = What::restored,
                  .found = made.found,
                  .value = made.found,
                  .reason = {}};
  const auto now = read_value(root + made.file, made.form);
  if (!now && is_gone(root + made.file, made.form)) {
    outcome.what = What::absent;
    outcome.reason = "the setting no longer exists, so nothing needs to be put back";
  } else if (!now) {
    outcome.what = What::refused;
    outcome.reason = now.error().message;
  } else if (same_value(*now, made.found, made.form)) {
    outcome.value = *now;
  } else if (!same_value(*now, made.set, made.form)) {
    outcome.what = What::foreign;
    outcome.value = *now;
    outcome.reason = fmt::format("another program has since changed the value to {}", *now);
  } else if (const auto back = set(root + made.file, made.found, made.form); !back) {
    outcome.what = What::refused;
    outcome.value = *now;
    outcome.reason = back.error().message;
  }
  return outcome;
}

}  // namespace

std::string_view to_string(What what) {
  switch (what) {
    case What::changed:
      return "changed";
    case What::quiet:
      return "quiet";
    case What::refused:
      return "refused";
    case What::absent:
      return "absent";
    case What::restored:
      return "restored";
    case What::foreign:
      return "foreign";
  }
  return "";
}

Result<std::vector<const Knob*>> choose_knobs(std::span<const std::string> names) {
  std::vector<const Knob*> chosen;
  for (const Knob& knob : knobs())
    if (names.empty() ? knob.standard : std::ranges::find(names, knob.name) != names.end())
      chosen.push_back(&knob);
  for (const std::string& name : names) {
    if (find_knob(name) != nullptr) continue;
    std::vector<std::string> known;
    for (const Knob& knob : knobs()) known.emplace_back(knob.name);
    const std::string near = nearest(name, known);
    return fail(fmt::format("there is no knob {}{}; the knobs are {}", name,
                            near.empty() ? "" : "; did you mean " + near + "?",
                            fmt::join(known, ", ")));
  }
  return chosen;
}

Outcome refusal(std::string knob, std::string reason) {
  return {.knob = std::move(knob),
          .file = {},
          .what = What::refused,
          .found = {},
          .value = {},
          .reason = std::move(reason)};
}

bool moves_processes(std::span<const Knob* const> knobs) {
  return std::ranges::any_of(knobs, &Knob::moves_processes);
}

Result<void> Held::hold(const Setting& setting, std::string_view knob, const std::string& root) {
  const std::string path = root + setting.file;
  std::int32_t number = 0;
  const std::string& text = setting.quiet;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    return fail(fmt::format("{} is not a number", text));
  Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return fail_errno(fmt::format("cannot open {}", path));
  if (write(fd.get(), &number, sizeof number) != sizeof number)
    return fail_errno(fmt::format("{} does not accept {}", path, text));
  const auto now = read_value(path, setting.form);
  if (!now) return std::unexpected(now.error());
  if (*now != text)
    return fail(fmt::format("{} contains {}, although {} was written to it", path, *now, text));
  held_.push_back({.fd = std::move(fd),
                   .outcome = {.knob = std::string(knob),
                               .file = setting.file,
                               .what = What::restored,
                               .found = setting.found,
                               .value = setting.found,
                               .reason = {}}});
  return {};
}

std::vector<Outcome> Held::let_go() {
  std::vector<Outcome> outcomes;
  for (One& each : held_) outcomes.push_back(std::move(each.outcome));
  held_.clear();
  return outcomes;
}

Result<std::vector<Outcome>> quiesce(UndoLog& log, std::span<const Knob* const> knobs,
                                     const CpuChoice& cpus, const std::string& root, Held* held) {
  std::vector<Outcome> outcomes;
  for (const Knob* knob : knobs) {
    const auto settings = read_knob(*knob, cpus, root);
    std::vector<Change> planned;
    for (const Setting& setting : settings)
      if (setting.error.empty() && !setting.is_quiet() && setting.form != Form::held)
        planned.push_back({.knob = std::string(knob->name),
                           .file = setting.file,
                           .found = setting.found,
                           .set = setting.quiet,
                           .form = setting.form});
    if (!planned.empty())
      if (auto logged = log.add(planned); !logged)
        return std::unexpected(logged.error());  // invariant 1
    for (const Setting& setting : settings) {
      outcomes.push_back(outcome_of(setting, knob->name));
      if (!setting.error.empty()) continue;
      if (setting.form == Form::held)
        hold(outcomes.back(), setting, root, held);
      else if (!setting.is_quiet())
        change(outcomes.back(), setting, root);
    }
    if (settings.empty()) outcomes.push_back(absence_of(knob->name));
  }
  return outcomes;
}

Result<std::vector<Outcome>> restore(UndoLog& log, const std::string& root, UndoLog::Mark from) {
  std::vector<Outcome> outcomes;
  std::vector<Change> dealt_with;
  for (const Change& made : std::views::reverse(log.changes().subspan(from.changes))) {
    outcomes.push_back(put_back(made, root));
    if (outcomes.back().what != What::refused) dealt_with.push_back(made);
  }
  const bool all = dealt_with.size() == outcomes.size();
  // The log must forget these changes, because a later change to the same value would not be ours.
  if (!all)
    if (auto forgotten = log.forget(dealt_with); !forgotten)
      return std::unexpected(forgotten.error());
  if (from.changes > 0) {
    if (all)
      if (auto shortened = log.back_to(from); !shortened) return std::unexpected(shortened.error());
    return outcomes;
  }
  if (log.damaged() > 0) {
    const auto copy = log.set_aside();
    if (!copy) return std::unexpected(copy.error());
    outcomes.push_back(
        {.knob = {},
         .file = {},
         .what = What::refused,
         .found = {},
         .value = {},
         .reason = fmt::format("{} lines of the log cannot be read, so the settings in these lines "
                               "may still have their changed values; the lines are kept in {}",
                               log.damaged(), *copy)});
  }
  if (!all) return outcomes;
  if (auto cleared = log.clear(); !cleared) return std::unexpected(cleared.error());  // invariant 3
  return outcomes;
}

std::string log_by_hand(const std::string& folder) {
  return folder + "/quiesce.undo";
}

std::string log_of_experiments(const std::string& folder) {
  return folder + "/experiments.undo";
}

namespace {

// The folders in which processes are still confined.
std::vector<std::string> confining_folders(const std::string& root) {
  std::vector<std::string> folders;
  for (const Knob& knob : knobs())
    for (const KnobFiles& files : knob.files)
      if (files.form == Form::folder &&
          confined_to(root + std::string(files.pattern)).value_or("") != everywhere)
        folders.push_back(root + std::string(files.pattern));
  return folders;
}

// Also releases processes that are still confined after the log was restored: whoever confined them
// has ended, because they would keep the log open.
Result<std::vector<Outcome>> put_all_back(UndoLog& log, const std::string& root) {
  auto outcomes = machine::restore(log, root);
  if (!outcomes) return outcomes;
  for (const std::string& folder : confining_folders(root))
    if (auto gone = confine(folder, std::string(everywhere)); !gone)
      outcomes->push_back(refusal("other_processes", gone.error().message));
  return outcomes;
}

}  // namespace

Result<std::vector<Outcome>> recover(const std::string& folder, const std::string& root) {
  const std::string path = log_of_experiments(folder);
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  // There is no log, or we may not even look at it.
  if ((error || size == 0) && confining_folders(root).empty()) return {};
  auto log = UndoLog::open(path, root);
  if (!log) return std::unexpected(log.error());
  return put_all_back(*log, root);
}

Result<std::vector<Outcome>> Keeper::quiesce(std::span<const Knob* const> knobs,
                                             const CpuChoice& cpus) {
  if (auto back = restore(); !back) return back;
  auto by_hand = UndoLog::open(log_by_hand(folder_), root_);
  if (!by_hand) return std::unexpected(by_hand.error());
  auto experiment = UndoLog::open(log_of_experiments(folder_), root_);
  if (!experiment) return std::unexpected(experiment.error());
  if (auto left = put_all_back(*experiment, root_); !left) return left;
  logs_.emplace(*std::move(by_hand), *std::move(experiment));
  auto outcomes = machine::quiesce(logs_->experiment, knobs, cpus, root_, &held_);
  if (!outcomes) {
    (void)restore();
    return outcomes;
  }
  for (const Outcome& outcome : *outcomes)
    if (outcome.what == Outcome::What::changed || outcome.what == Outcome::What::quiet)
      quiet_.push_back(outcome);
  return outcomes;
}

std::vector<Outcome> Keeper::disturbed() {
  std::vector<Outcome> changes;
  std::erase_if(quiet_, [&](const Outcome& was) {
    const Form form = files_of(was.knob, was.file)->form;
    const auto now = read_value(root_ + was.file, form);
    if (!now && is_gone(root_ + was.file, form)) return true;
    // The knob smt takes CPUs offline, whose settings matter again when the CPUs are back.
    if (!now && is_of_offline_cpu(was.file, root_)) return false;
    if (now && same_value(*now, was.value, form)) return false;
    Outcome change = was;
    change.what = Outcome::What::foreign;
    change.value = now.value_or("");
    change.reason =
        now ? fmt::format("another program has set {} to {}", was.file, *now) : now.error().message;
    changes.push_back(std::move(change));
    return true;
  });
  return changes;
}

Result<std::vector<Outcome>> Keeper::restore() {
  quiet_.clear();
  auto let_go = held_.let_go();
  auto logs = std::exchange(logs_, std::nullopt);
  if (!logs) return {};
  auto outcomes = machine::restore(logs->experiment, root_);
  if (outcomes) std::ranges::move(let_go, std::back_inserter(*outcomes));
  return outcomes;
}

std::vector<Loud> still_loud(std::span<const Outcome> outcomes) {
  std::vector<Loud> loud;
  for (const Outcome& outcome : outcomes) {
    const Knob* knob = find_knob(outcome.knob);
    const bool absent =
        outcome.what == Outcome::What::absent && knob != nullptr && knob->missing != Grade::good;
    if (outcome.what != Outcome::What::refused && !absent) continue;
    const auto same = std::ranges::find(loud, outcome.knob, &Loud::knob);
    // One reason per knob is enough, because the files of a knob usually fail in the same way.
    if (same == loud.end()) loud.push_back({.knob = outcome.knob, .reason = outcome.reason});
  }
  return loud;
}

namespace {

// A text that names no CPUs was not understood, so it counts as any CPUs.
bool is_apart(const CpuSet& some, const CpuSet& others) {
  return !some.empty() && std::ranges::none_of(some, [&](unsigned cpu) {
    return std::ranges::find(others, cpu) != others.end();
  });
}

}  // namespace

std::vector<Loud> loud_now(std::span<const Knob* const> knobs, const CpuChoice& cpus,
                           const std::string& root) {
  std::vector<Outcome> outcomes;
  for (const Knob* knob : knobs) {
    const auto settings = read_knob(*knob, cpus, root);
    if (settings.empty()) outcomes.push_back(absence_of(knob->name));
    for (const Setting& setting : settings) {
      outcomes.push_back(outcome_of(setting, knob->name));
      if (setting.is_quiet() || !setting.error.empty()) continue;
      // The interrupts may have been moved by a process that chose among other CPUs.
      if (setting.form == Form::cpus && !cpus.shared &&
          is_apart(cpus_in(setting.found), cpus.trial))
        continue;
      outcomes.back().what = What::refused;
      outcomes.back().reason = fmt::format("{} is {}, but its quiet value is {}", setting.file,
                                           setting.found, setting.quiet);
    }
  }
  return still_loud(outcomes);
}

std::string to_text(std::span<const Loud> loud) {
  std::string text;
  for (const Loud& each : loud)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", each.knob, each.reason);
  return text;
}

}  // namespace stab::machine
