// SPDX-License-Identifier: MIT
// A trial whose program runs under the causal profiler (causal/run).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "causal/lines/line_map.h"
#include "causal/run/prepare_program.h"
#include "causal/run/session_file.h"
#include "machine/child.h"
#include "protocol/work.h"

namespace stab::worker {

class CausalRun {
 public:
  // Finds the source lines of the launch's program, which `programs` may know already. Returns
  // nullopt if no causal profile is wanted; an error says what to change in the plan or the
  // program.
  static Result<std::optional<CausalRun>> prepare(
      const std::optional<protocol::CausalRequest>& wanted, causal::Programs* programs,
      const machine::Launch& launch);

  // Adds the profiler's library to the launch's environment.
  void wrap(machine::Launch& launch) const;
  // Adds the profile to the reply, however the program ended. Returns why an analysis can't use it;
  // "" if it can.
  std::string take(const machine::Ended& ended, protocol::RunReply& reply) const;

 private:
  CausalRun(const protocol::CausalRequest& request, std::string library,
            std::shared_ptr<const causal::LineMap> map, causal::SessionFile session);

  std::string library_;
  std::shared_ptr<const causal::LineMap> map_;
  causal::SessionFile session_;
  bool is_end_to_end_ = false;
};

}  // namespace stab::worker
