// SPDX-License-Identifier: MIT
#include "machine/quiet/keeper.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include "machine/quiet/confinement.h"

namespace stab::machine {

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

}  // namespace stab::machine
