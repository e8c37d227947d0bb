// SPDX-License-Identifier: MIT
#include "machine/quiet/quiet.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <ranges>

#include "base/fd.h"
#include "base/text.h"
#include "machine/quiet/confinement.h"

namespace stab::machine {
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
    return fail(fmt::format("{} contains {} after {} was written to it", path, *now, value));
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
  const auto done = held == nullptr ? fail(
                                          "this setting takes effect only while a process keeps "
                                          "its file open, as stabd does during an experiment")
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
    return fail(fmt::format("{} contains {} after {} was written to it", path, *now, text));
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
    if (settings.empty())
      outcomes.push_back({.knob = std::string(knob->name),
                          .file = {},
                          .what = What::absent,
                          .found = {},
                          .value = {},
                          .reason = "this machine has no such setting"});
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
         .reason = fmt::format("{} lines of the log cannot be read, so the settings that they "
                               "record may stay changed; the lines are kept in {}",
                               log.damaged(), *copy)});
  }
  if (!all) return outcomes;
  if (auto cleared = log.clear(); !cleared) return std::unexpected(cleared.error());  // invariant 3
  return outcomes;
}

}  // namespace stab::machine
