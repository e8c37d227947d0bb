// SPDX-License-Identifier: MIT
// Notices about experiments that have ended or are in trouble: who gets one, and what it says. The
// daemon's own command and the plan's command get one each.
#pragma once

#include <uv.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/containment.h"
#include "plan/plan.h"
#include "stabd/daemon/children.h"
#include "stabd/daemon/host.h"
#include "stabd/daemon/readers.h"
#include "stabd/daemon/session/schedule.h"
#include "stabd/settings.h"
#include "store/store.h"

namespace stab::daemon {

struct NoticesOptions {
  std::string program;  // stabd itself
  std::string database;
  machine::Containment containment = machine::Containment::process_tree;
};

class Notices final : private NotifierEvents {
 public:
  // `readers` are asked for verdicts, and read plans. A notice that could not be sent becomes an event of its
  // experiment. `sent` is called from the loop whenever owed() may have become false.
  Notices(Clock& clock, uv_loop_t* loop, store::Store& store, Readers& readers,
          const Accounts& accounts, NoticesOptions options, const settings::Notify& own,
          std::function<void()> sent);

  void use_settings(const settings::Notify& own);
  // Commands stay off the CPUs of trials.
  void use_cpus(const std::vector<unsigned>& cpus);

  // `event` is the last state, or the trouble. The plan is nullptr if it can't be read.
  void tell(const store::Experiment& row, const plan::Plan* plan, std::string_view event,
            const std::string& reason, const std::optional<Counts>& counts);
  // The same for an experiment whose plan nobody has read: a reader finds the plan's command.
  void tell_unread(const store::Experiment& row, std::string_view event, const std::string& reason);
  // Tells Slurm to give the node to nobody, with our own rights.
  void drain(const store::Experiment& row, const std::string& node, const std::string& reason);
  // Whether there are notices that were not sent yet.
  [[nodiscard]] bool owed() const;
  // Call this when the readers have gone, before the loop is closed: kills running commands. The
  // notices that were not sent never will be.
  void end();

 private:
  Notifier& notifier_of(const Notice& notice);
  void notice_failed(store::Id id, const std::string& why) override;
  void notifier_rests() override;
  void send(std::vector<Notice> notices, const nlohmann::ordered_json& json);

  Clock& clock_;
  uv_loop_t* loop_;
  store::Store& store_;
  Readers& readers_;
  const Accounts& accounts_;
  NoticesOptions options_;
  settings::Notify own_;
  std::function<void()> sent_;
  std::vector<unsigned> cpus_;
  // The key is the account, and whether the command is the daemon's own. The notices of one notifier
  // wait for each other, but never for another user's notices.
  std::map<std::pair<std::uint32_t, bool>, std::unique_ptr<Notifier>> notifiers_;
  // Experiments whose notices wait for a reader.
  std::multiset<store::Id> awaiting_reader_;
};

}  // namespace stab::daemon
