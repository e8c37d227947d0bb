// SPDX-License-Identifier: MIT
// Runs one trial and checks whether the program did what its plan demands.
#pragma once

#include <functional>
#include <string>

#include "causal/run/prepare_program.h"
#include "counters/events/counting.h"
#include "counters/profiles/profiler.h"
#include "machine/measured_run.h"
#include "machine/observer.h"
#include "machine/processes.h"
#include "protocol/work.h"
#include "worker/binary.h"

namespace stab::worker {

struct TrialContext {
  machine::Containment containment = machine::Containment::process_tree;
  int stop_fd = -1;
  std::function<bool()> bind;              // called in the trial's process
  std::function<bool()> bind_others;       // called in the processes of the plan's commands
  machine::Observer* observer = nullptr;   // watches the machine around the trial; may be null
  counters::Counting* counting = nullptr;  // counts the trial's events; may be null
  std::string simulator;                   // the simulator that runs the program; "": none
  counters::Profiler* profiler = nullptr;  // samples the trial's functions; may be null
  causal::Programs* causal = nullptr;      // for runs of a causal profile, otherwise null
  CodeSizes* sizes = nullptr;              // code sizes of programs that no build made; may be null
  std::string marker;  // "NAME=value" in the trial's environment, to find it after a crash; or ""
};

// Describes how to start the trial's program. The runtime that szc links in reports nowhere.
machine::Launch launch_of(const protocol::RunRequest& request, const TrialContext& context);

// Describes how to start one of the plan's commands: in the trial's folder and with its variables,
// but without its limits.
machine::Launch step_of(const protocol::RunRequest& request, const std::string& command,
                        const TrialContext& context);

// Runs the plan's prepare command. Returns why it failed; "" if it succeeded or there is none.
std::string prepare(const protocol::RunRequest& request, const TrialContext& context);

// Every outcome is a reply; there are no errors.
protocol::RunReply run_trial(const protocol::RunRequest& request, const TrialContext& context);

}  // namespace stab::worker
