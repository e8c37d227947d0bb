// SPDX-License-Identifier: MIT
// A trial whose program runs under the causal profiler (causal/run).
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "causal/run/program.h"
#include "causal/run/session_file.h"
#include "machine/child.h"
#include "stabd/protocol/work.h"

namespace stab::worker {

class CausalRun {
 public:
  // Reads the lines of the program that the launch names, in a process of its own. Nothing if it is
  // not asked for; an error says what to change in the plan or the program.
  static Result<std::optional<CausalRun>> prepare(
      const std::optional<protocol::CausalRequest>& wanted, const causal::Companions* companions,
      const machine::Launch& launch);

  // The program finds the profiler's library in its environment.
  void wrap(machine::Launch& launch) const;
  // What was seen, into the reply, whatever became of the program. Why there is nothing that an
  // analysis could use; "": there is.
  std::string take(const machine::Ended& ended, protocol::RunReply& reply) const;

 private:
  CausalRun(const protocol::CausalRequest& request, std::string library, causal::LineMap map,
            causal::SessionFile session);

  std::string library_;
  causal::LineMap map_;
  causal::SessionFile session_;
  bool is_end_to_end_ = false;
};

}  // namespace stab::worker
