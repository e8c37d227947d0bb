// SPDX-License-Identifier: MIT
// What is shown of a running experiment, and when a newer report is worth its price. Pure.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/error.h"
#include "client/web/connection.h"
#include "protocol/messages.h"

namespace stab::client::web {

// A page asks again after this; no report begins earlier after the one before.
inline constexpr std::chrono::seconds pace{5};
// Nor earlier than this many times what that one took, which ends here.
inline constexpr int times_as_long = 10;
inline constexpr std::chrono::seconds longest_pause{60};

struct View {
  std::shared_ptr<const std::string> text;
  std::string version;  // "\"3\"": another one is another text
  bool final = false;
};

// W1: no report is asked for before somebody has looked since the one before, nor while one is being
// made, nor if nothing has changed since, nor before a trial has ended.
// W2: once the experiment has ended the page is final as soon as the report that was asked for after
// that is there, or cannot be had.
class LivePage {
 public:
  explicit LivePage(std::int64_t id) : id_(id) {}

  void follow(const protocol::Progress& progress);
  // Somebody looks.
  View look(Clock::time_point now);
  [[nodiscard]] bool was_looked_at() const { return looked_at_; }

  [[nodiscard]] bool wants_report(Clock::time_point now) const;
  // When it may want one that it does not want yet.
  [[nodiscard]] Clock::time_point may_want_from() const { return next_; }
  void asked(Clock::time_point now);
  // `at_ns`: the time of day.
  void answered(Result<protocol::ReportReply> report, Clock::time_point now, std::int64_t at_ns);

 private:
  [[nodiscard]] bool is_complete() const { return progress_.final && reported_ == state_; }
  [[nodiscard]] bool nothing_measured() const;
  [[nodiscard]] std::string remark(bool newer) const;
  [[nodiscard]] std::string text(bool newer) const;

  std::int64_t id_;
  protocol::Progress progress_{};
  std::string state_{};      // of the progress, but for the time that is left
  std::string asked_for_{};  // as it was when the last report was asked for
  std::string reported_{};   // as it was when that was asked for which was answered last
  std::string report_{};
  std::string made_at_{};
  std::string problem_{};  // why there is no newer one
  std::uint64_t reports_ = 0;
  bool pending_ = false;
  bool looked_at_ = false;
  bool looked_since_ = false;
  Clock::time_point began_{};
  Clock::time_point next_{};
  std::string shown_{};  // what the version is of
  std::uint64_t version_ = 0;
  View view_{};
};

}  // namespace stab::client::web
