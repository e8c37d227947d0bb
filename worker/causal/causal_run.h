// SPDX-License-Identifier: MIT
// A trial whose program runs under the causal profiler (causal/run).
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "causal/lines/line_map.h"
#include "causal/run/program.h"
#include "causal/run/session_file.h"
#include "machine/child.h"
#include "protocol/work.h"

namespace stab::worker {

class CausalRun {
 public:
  // Has the lines of the program that the launch names, which `programs` may know. Nothing if it is
  // not asked for; an error says what to change in the plan or the program.
  static Result<std::optional<CausalRun>> prepare(
      const std::optional<protocol::CausalRequest>& wanted, causal::Programs* programs,
      const machine::Launch& launch);

  // The program finds the profiler's library in its environment.
  void wrap(machine::Launch& launch) const;
  // What was seen, into the reply, whatever became of the program. Why there is nothing that an
  // analysis could use; "": there is.
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
