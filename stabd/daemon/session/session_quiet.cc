// SPDX-License-Identifier: MIT
// The part of a session that makes the machine quiet and puts it back.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "machine/quiet/keeper.h"
#include "results/document.h"
#include "stabd/daemon/session/session.h"

namespace stab::daemon {
namespace {

using machine::Outcome;

// "governor (4 files), swappiness"
std::string names(std::span<const Outcome> outcomes, Outcome::What what) {
  std::vector<std::pair<std::string, int>> found;
  for (const Outcome& outcome : outcomes) {
    if (outcome.what != what) continue;
    const auto same = std::ranges::find(found, outcome.knob, &std::pair<std::string, int>::first);
    if (same == found.end())
      found.emplace_back(outcome.knob, 1);
    else
      ++same->second;
  }
  std::string text;
  for (const auto& [knob, files] : found)
    text += fmt::format("{}{}{}", text.empty() ? "" : ", ", knob,
                        files > 1 ? fmt::format(" ({} files)", files) : "");
  return text;
}

std::string words(std::span<const machine::Loud> loud) {
  std::string text;
  for (const machine::Loud& each : loud)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", each.knob, each.reason);
  return text;
}

constexpr std::string_view quiet_kind = "quiet";

}  // namespace

void Session::make_quiet(const Place& place) {
  if (last_) return;
  apply(Event::quiesce, "");
  if (state_ != State::quiescing) return;
  changed_ = true;
  const auto chosen = machine::choose_knobs(plan_.knobs);
  const auto outcomes = chosen ? around_.quiesce(*chosen, place.cpus)
                               : Surroundings::Outcomes(std::unexpected(chosen.error()));
  const std::string loud =
      outcomes ? words(machine::still_loud(*outcomes)) : outcomes.error().message;
  if (plan_.quiesce == plan::Quiesce::strict && !loud.empty())
    return apply(Event::refused,
                 fmt::format("the machine cannot be made quiet: {}. Its settings are as before. "
                             "Fix the problem, choose other settings in 'machine.knobs', or use "
                             "machine.quiesce = \"best-effort\"; 'stabctl doctor' has more details",
                             loud));
  note_quietness(place);
  const std::string changed = outcomes ? names(*outcomes, Outcome::What::changed) : "";
  if (!changed.empty()) note(std::string(results::quieted_event), changed);
  if (!loud.empty()) note(std::string(results::loud_event), loud);
  apply(Event::quiet, "");
}

// This reads files of the kernel, so it is done at most once a second, not before every short
// block.
void Session::look_whether_still_quiet(std::uint32_t block) {
  const auto now = std::chrono::steady_clock::now();
  if (!changed_ || now - looked_ < std::chrono::seconds(1)) return;
  looked_ = now;
  note_changes(fmt::format("before block {}", block + 1));
}

// Notes one change for each knob, because whoever changes one of its files usually changes all.
void Session::note_changes(const std::string& when) {
  const auto changes = around_.disturbed();
  std::map<std::string, std::size_t> files;
  for (const Outcome& outcome : changes) ++files[outcome.knob];
  for (const Outcome& outcome : changes)
    if (const std::size_t count = std::exchange(files[outcome.knob], 0); count > 0)
      note(std::string(results::loud_event),
           fmt::format("{}: {}{}; seen {}", outcome.knob, outcome.reason,
                       count > 1 ? fmt::format(" and changed {} more", count - 1) : "", when));
}

// Notes how quiet the machine is before the first trial, after its settings have been changed.
void Session::note_quietness(const Place& place) {
  if (plan_.machines) {
    experiment_.quietness.reset();
    return note(
        std::string(results::doctor_event),
        has_several()
            ? fmt::format(
                  "stabd did not check how quiet the machines are, because trials run on {} nodes",
                  places_.size())
            : fmt::format(
                  "stabd did not check how quiet the machine is, because trials run on node {}",
                  place.node.node));
  }
  const auto findings = around_.examine();
  experiment_.quietness.reset();
  if (!findings) {
    note(std::string(results::doctor_event), "not known: " + findings.error().message);
    return;
  }
  const std::string_view overall = to_string(machine::overall(*findings));
  experiment_.quietness = store::quietness_named(overall);
  std::string text = fmt::format("{} for measurements", overall);
  std::string_view before = ": ";
  for (const machine::Grade grade : {machine::Grade::poor, machine::Grade::fair})
    for (const machine::Finding& finding : *findings)
      if (finding.grade == grade)
        text += fmt::format("{}{} ({})", std::exchange(before, ", "), finding.name, finding.found);
  note(std::string(results::doctor_event), text);
}

// E5. Settings that can't be put back now stay in the machine's log, and the next experiment tries
// again.
void Session::put_back() {
  if (!std::exchange(changed_, false)) return;
  note_changes("at the end");
  const auto outcomes = around_.restore();
  const std::string kind(quiet_kind);
  const auto trouble = [&](const std::string& text) {
    spdlog::warn("experiment {}: {}", experiment_.id, text);
    note(kind, text);
  };
  if (!outcomes) return trouble("not put back: " + outcomes.error().message);
  if (const auto back = names(*outcomes, Outcome::What::restored); !back.empty())
    note(kind, "put back: " + back);
  for (const Outcome& outcome : *outcomes)
    if (outcome.what == Outcome::What::refused || outcome.what == Outcome::What::foreign)
      trouble(fmt::format("not put back: {}{}{}", outcome.file, outcome.file.empty() ? "" : ": ",
                          outcome.reason));
}

}  // namespace stab::daemon
