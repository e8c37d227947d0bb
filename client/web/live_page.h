// SPDX-License-Identifier: MIT
// Decides what the page of a running experiment shows, and when a newer report is worth its cost.
// Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "client/web/server.h"
#include "protocol/messages.h"

namespace stab::client::web {

// A page asks again after this time, and the pause between two reports is at least as long.
inline constexpr std::chrono::seconds pace{5};
// The pause is also at least this many times as long as the last report took, but never longer than
// `longest_pause`.
inline constexpr int times_as_long = 10;
inline constexpr std::chrono::seconds longest_pause{60};

struct View {
  std::shared_ptr<const std::string> text;
  std::string version;  // "\"3\""; a different version means a different text
  bool final = false;
};

// W1: the page asks for a report only if somebody has looked since the last request, no report is
// being made, something has changed since the last request, and a trial or the experiment has
// ended.
// W2: after the experiment's end, the page is final as soon as the report requested after the end
// has arrived or has failed.
class LivePage {
 public:
  explicit LivePage(std::int64_t id) : id_(id) {}

  void follow(const protocol::Progress& progress);
  // Call it when a browser asks for the page.
  View look(Clock::time_point now);
  [[nodiscard]] bool was_looked_at() const { return looked_at_; }

  [[nodiscard]] bool wants_report(Clock::time_point now) const;
  // The page does not want a newer report before this time, except the last one.
  [[nodiscard]] Clock::time_point may_want_from() const { return next_; }
  void asked(Clock::time_point now);
  // `at_ns`: the time of day in nanoseconds.
  void answered(Result<protocol::ReportReply> report, Clock::time_point now, std::int64_t at_ns);

 private:
  [[nodiscard]] bool is_complete() const { return progress_.final && reported_ == state_; }
  [[nodiscard]] bool nothing_measured() const;
  [[nodiscard]] std::string remark(bool newer) const;
  [[nodiscard]] std::string text(bool newer) const;

  std::int64_t id_;
  protocol::Progress progress_{};
  std::string state_{};      // the progress without the remaining time
  std::string asked_for_{};  // `state_` at the last request for a report
  std::string reported_{};   // `state_` at the request that was answered last
  std::string report_{};
  std::string made_at_{};
  std::string problem_{};  // why there is no newer report
  std::uint64_t reports_ = 0;
  bool pending_ = false;
  bool looked_at_ = false;
  bool looked_since_ = false;
  Clock::time_point began_{};
  Clock::time_point next_{};
  std::string shown_{};  // the content to which the version belongs
  std::uint64_t version_ = 0;
  View view_{};
};

}  // namespace stab::client::web
