// SPDX-License-Identifier: MIT
// A place where trials of an experiment run: our own machine, or a node of a cluster. Everything
// that belongs to its worker is here, so that a session can have several places.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/topology.h"
#include "protocol/work.h"
#include "stabd/daemon/session/builds.h"
#include "stabd/daemon/session/schedule.h"
#include "store/store.h"

namespace stab::daemon {

// Whether the block is a warm-up block, and its number among those.
using BlockId = std::pair<bool, std::uint32_t>;

struct Place {
  std::size_t index = 0;               // among the session's places
  std::unique_ptr<Schedule> schedule;  // the trials that run here
  Builds builds;                       // as they are here
  std::size_t next_build = 0;
  std::chrono::steady_clock::time_point builds_since{};
  machine::CpuChoice cpus;
  std::string simulator;  // the simulator's version if trials run under one

  bool has_worker = false;
  bool has_been_up = false;  // a worker of this experiment was on a node
  bool is_ready = false;     // everything is built, or nothing is left to do here
  // The unanswered request to the worker, as its index in protocol::WorkRequest.
  std::optional<std::size_t> asked;
  std::optional<Schedule::Step> trial;      // under way until its row is stored
  std::optional<std::uint32_t> passed;      // the position that waits_before() is done with
  std::optional<store::Trial> pending;      // E2
  std::chrono::nanoseconds last_commit{0};  // how long it took to store the last trial, which
                                            // becomes a reading of the next one

  // The node of a cluster where the worker is, and why it is lost; empty on our own machine.
  protocol::NodeReply node;
  std::optional<protocol::LostReply> lost;
  unsigned losses = 0;       // workers lost since the last result
  unsigned node_losses = 0;  // nodes lost in this block
  std::optional<BlockId> lost_block;
  std::optional<std::uint32_t> lost_position;  // the trial that lost its worker last
  std::string noted_loss;
  std::string home;  // with several machines: the node of its stored trials, or the plan's name
  // With several machines: another worker starts later, and since when none could start.
  bool waits = false;
  std::optional<std::chrono::steady_clock::time_point> waits_since;
  bool has_whole_blocks = false;  // E9: the incomplete block was looked for
};

}  // namespace stab::daemon
