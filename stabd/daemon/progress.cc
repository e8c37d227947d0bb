// SPDX-License-Identifier: MIT
#include "stabd/daemon/progress.h"

#include <nlohmann/json.hpp>

namespace stab::daemon {

using nlohmann::ordered_json;

ordered_json summary_json(const store::Experiment& experiment) {
  return {{"id", experiment.id},
          {"name", experiment.name},
          {"state", experiment.state},
          {"reason", experiment.reason},
          {"directory", experiment.directory},
          {"uid", experiment.uid},
          {"trials", experiment.trials},
          {"submitted_ns", experiment.submitted_ns},
          {"started_ns", experiment.started_ns == 0 ? ordered_json(nullptr)
                                                    : ordered_json(experiment.started_ns)},
          {"ended_ns",
           experiment.ended_ns == 0 ? ordered_json(nullptr) : ordered_json(experiment.ended_ns)}};
}

std::string progress_line(const store::Experiment& experiment, const Session* session) {
  const auto state = state_from(experiment.state);
  const bool ended = !state || (is_final(*state) && (session == nullptr || session->finished()));
  ordered_json line{{"kind", "progress"},
                    {"id", experiment.id},
                    {"state", experiment.state},
                    {"reason", experiment.reason},
                    {"final", ended}};
  if (session != nullptr) {
    const Counts& counts = session->counts();
    const Session::Progress progress = session->progress();
    line["total"] = counts.total;
    line["done"] = counts.finished();
    line["ok"] = counts.ok;
    line["failed"] = counts.failed;
    line["skipped"] = counts.skipped;
    line["builds"] = progress.builds;
    line["builds_done"] = progress.builds_done;
    line["activity"] = progress.activity;
    line["fewest"] = progress.fewest;
    line["look"] = progress.look;
    line["left_ns"] = progress.left ? ordered_json(progress.left->count()) : ordered_json(nullptr);
  }
  return line.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace stab::daemon
