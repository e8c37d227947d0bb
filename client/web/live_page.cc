// SPDX-License-Identifier: MIT
#include "client/web/live_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>
#include <vector>

#include "client/follow.h"
#include "client/streams.h"
#include "report/html/live.h"

namespace stab::client::web {
namespace {

using protocol::Progress;
using report::html::Fact;

// After this time, a page asks again while a newer report is being made.
constexpr std::chrono::seconds soon{2};

std::string without_time(Progress progress) {
  progress.left_ns.reset();
  return protocol::to_text(progress, -1);
}

std::optional<double> share_of(const Progress& progress) {
  const bool builds = progress.state == "building";
  const auto done = (builds ? progress.builds_done : progress.done).value_or(0);
  const auto total = (builds ? progress.builds : progress.total).value_or(0);
  if (total == 0) return std::nullopt;
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
}

std::vector<Fact> facts_of(const Progress& progress) {
  std::vector<Fact> facts;
  const auto add = [&](const char* name, const std::string& value) {
    if (!value.empty()) facts.push_back({.name = name, .value = value});
  };
  add("State", progress.state + (progress.reason.empty() ? "" : ": " + progress.reason));
  if (progress.state == "building") add("Builds", builds_words(progress));
  if (progress.total) add("Trials", trials_words(progress));
  if (!progress.final) {
    add("Left", left_words(progress));
    add("Now", progress.activity.value_or(""));
  }
  add("Stopping", progress.look.value_or(""));
  return facts;
}

std::string title_of(std::int64_t id, const Progress& progress) {
  const auto share = share_of(progress);
  const std::string far = progress.final || !share || progress.state == "building"
                              ? progress.state
                              : fmt::format("{:.0f} %", 100 * *share);
  return fmt::format("{}: experiment {} - stabd", far, id);
}

}  // namespace

void LivePage::follow(const Progress& progress) {
  progress_ = progress;
  state_ = without_time(progress);
}

bool LivePage::nothing_measured() const {
  return !progress_.final && progress_.done == 0U;
}

bool LivePage::wants_report(Clock::time_point now) const {
  if (pending_ || !looked_since_ || nothing_measured() || asked_for_ == state_) return false;
  return progress_.final || now >= next_;
}

void LivePage::asked(Clock::time_point now) {
  assert(wants_report(now));  // W1
  pending_ = true;
  looked_since_ = false;
  asked_for_ = state_;
  began_ = now;
}

void LivePage::answered(Result<protocol::ReportReply> report, Clock::time_point now,
                        std::int64_t at_ns) {
  assert(pending_);
  pending_ = false;
  reported_ = asked_for_;
  next_ = now + std::clamp<Clock::duration>(times_as_long * (now - began_), pace, longest_pause);
  problem_ = report ? "" : report.error().message;
  if (!report) return;
  report_ = std::move(report->text);
  made_at_ = local_time(at_ns);
  ++reports_;
}

std::string LivePage::remark(bool newer) const {
  std::string words;
  if (is_complete() && problem_.empty())
    return "The experiment has ended, and this is its final report.";
  if (!report_.empty())
    words = fmt::format("The report below was made at {} from the trials so far.", made_at_);
  else if (nothing_measured())
    words = "No trial has ended yet; the first report appears after the first trial.";
  else if (problem_.empty())
    words = "stabd is preparing the first report.";
  if (!problem_.empty())
    words += fmt::format("{}There is no {}report: {}", words.empty() ? "" : " ",
                         report_.empty() ? "" : "newer ", problem_);
  if (newer && !report_.empty()) words += " stabd is preparing a newer report.";
  if (newer && progress_.state == "running")
    words += " If trials use all CPUs, the new report appears only after the current block.";
  return words;
}

std::string LivePage::text(bool newer) const {
  const report::html::Live live{
      .title = title_of(id_, progress_),
      .facts = facts_of(progress_),
      .share = share_of(progress_),
      .remark = remark(newer),
      .after = fmt::format(
          "stabctl no longer answers; this is the last page it showed. To continue, enter the "
          "same command again. To print the report, enter 'stabctl report {} --format html' (for "
          "an experiment of 'stabctl run', add '--folder FOLDER').",
          id_),
      .report = reports_,
      .pace = newer ? soon : pace,
      .final = is_complete()};
  if (const auto page = report::html::live_page(report_, live)) return *page;
  report::html::Live other = live;
  other.remark =
      "This stabctl cannot show the pages of the running stabd: use the stabctl of the same "
      "release as stabd.";
  return *report::html::live_page("", other);
}

View LivePage::look(Clock::time_point now) {
  looked_at_ = looked_since_ = true;
  const bool newer = pending_ || wants_report(now);
  const std::string shows = fmt::format("{} {} {} {}", state_, reports_, newer, problem_);
  if (shown_ == shows && view_.text) return view_;
  shown_ = shows;
  view_ = {.text = std::make_shared<const std::string>(text(newer)),
           .version = fmt::format("\"{}\"", ++version_),
           .final = is_complete()};
  return view_;
}

}  // namespace stab::client::web
