// SPDX-License-Identifier: MIT
// Runs one trial and judges it: did the program do what its check asks for?
#pragma once

#include <functional>
#include <string>

#include "causal/run/program.h"
#include "counters/events/counting.h"
#include "counters/profiles/profiler.h"
#include "machine/child.h"
#include "machine/processes.h"
#include "machine/quality/observer.h"
#include "protocol/work.h"
#include "worker/binary.h"

namespace stab::worker {

struct TrialContext {
  machine::Containment containment = machine::Containment::process_tree;
  int stop_fd = -1;
  std::function<bool()> bind;              // in the trial's process
  std::function<bool()> bind_others;       // in processes of the plan's commands
  machine::Observer* observer = nullptr;   // of the machine around the trial; null: nobody looks
  counters::Counting* counting = nullptr;  // of the trial's events; null: nothing is counted
  std::string simulator;                   // under which it runs; "": it runs by itself
  counters::Profiler* profiler = nullptr;  // of the trial's functions; null: nobody samples
  causal::Programs* causal = nullptr;      // of runs of a causal profile; null: it is none
  CodeSizes* sizes = nullptr;              // of programs that no build made; null: they have none
  std::string marker;  // "NAME=value" in the trial's environment, to find it after a crash; or ""
};

// How its program is started. The runtime that szc links in reports nowhere.
machine::Launch launch_of(const protocol::RunRequest& request, const TrialContext& context);

// A command of the plan's beside the trial: where it runs and with its variables, without its limits.
machine::Launch step_of(const protocol::RunRequest& request, const std::string& command,
                        const TrialContext& context);

// Why what the plan wants done before the trial did not succeed; "" if it did, or wants nothing.
std::string prepare(const protocol::RunRequest& request, const TrialContext& context);

// Every outcome is a reply.
protocol::RunReply run_trial(const protocol::RunRequest& request, const TrialContext& context);

}  // namespace stab::worker
