// SPDX-License-Identifier: MIT
// The two processes that stand between the daemon and its worker on a node. Both have the
// experiment's user and pass lines on. The head is on the daemon's machine: for the daemon it takes
// the worker's place, it starts srun, and it says in a last line why the worker is lost. Slurm
// starts the node's process, which starts the worker.
//
// Invariants
//  H1  An earlier job of the same daemon and user has ended before another one starts.
//  H2  The last line about a lost step is sent after the step has ended, or after it must have ended
//      by itself for lack of signs of life (longest_life() in slurm.h, whatever the silence is).
//  H3  When the daemon hangs up, the allocation is freed. If the controller does not answer then,
//      the daemon starts heads that only free it (stabd/daemon/allocations.h).
//  N1  The worker and its trial end when the node's process ends, and when the daemon gives no sign
//      of life for the agreed time, whichever process on the way is dead or stopped.
//  N2  The node's process exits with 0 only after the worker and all that it started have ended.
//  N3  The node's process holds a lock on its node for as long as it lives, and it lives until its
//      worker has ended, unless somebody kills it. So no trial runs beside an earlier step of the
//      same user, even if Slurm believes that the step has ended. The worker does not inherit the
//      lock: if the node's process is killed, the kernel kills the worker (N1). A later process of
//      the same place ends what is left of a trial outside a pid namespace before it starts a
//      worker. A process that does not get the lock within longest_life() starts no worker and says
//      so.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "protocol/lines.h"

namespace stab::cluster {

// Whether signs of life that arrive are carried on.
enum class Signs { end_here, go_on };

// Carries lines from one descriptor to another. An empty line is a sign of life, which the receiver
// may not need.
//
// Invariants
//  C1  Only whole lines are written, so a sign of life never divides one.
//  C2  At most `most_waiting` bytes and one line wait for the receiver; then nothing is read.
class Carrier {
 public:
  using Clock = std::chrono::steady_clock;
  // Says of a line that is not empty whether it is carried on; it may add() lines before that line.
  using Look = std::function<bool(Carrier&, std::string_view)>;
  // Both descriptors become non-blocking. Without `look`, all lines are carried on.
  Carrier(int from, int to, Signs signs, Look look = {});

  // For poll(). A descriptor is -1 if there is nothing to wait for.
  [[nodiscard]] int reads() const { return ended_ || waiting_.size() > most_waiting ? -1 : from_; }
  [[nodiscard]] int writes() const { return broken_ || waiting_.empty() ? -1 : to_; }

  // Reads what has arrived, and writes what can be written.
  void move();
  // Adds a line of our own, or a sign of life ("").
  void add(std::string_view line);
  // Writes what waits, for at most this time.
  void flush(std::chrono::milliseconds time);

  // No line follows: the sender has closed the stream, or has sent a line that is too long.
  [[nodiscard]] bool ended() const { return ended_; }
  // The receiver has closed the stream.
  [[nodiscard]] bool broken() const { return broken_; }
  // The last move() has read the beginning of a line. Slurm sends a line in pieces of 1,024 bytes,
  // and the kernel keeps the second one back until the first one is acknowledged, for which it takes
  // 40 ms. A sign of life in the other direction is an acknowledgement.
  [[nodiscard]] bool wants_more() const { return wants_more_; }
  [[nodiscard]] Clock::duration silent_for() const { return Clock::now() - heard_; }
  // Anything has arrived, be it a sign of life.
  [[nodiscard]] bool has_heard() const { return has_heard_; }

 private:
  static constexpr std::size_t most_waiting = std::size_t{1} << 20;
  void read_some();
  void write_some();

  int from_;
  int to_;
  Signs signs_;
  Look look_;
  protocol::LineBuffer lines_;
  std::string waiting_;
  bool ended_ = false;
  bool broken_ = false;
  bool wants_more_ = false;
  bool has_heard_ = false;
  Clock::time_point heard_ = Clock::now();
};

// `start` is a StepStart as JSON (slurm.h). The daemon is at descriptor 3. Returns the exit code.
int serve_head(const std::string& start);

// `start` is a NodeStart as JSON (slurm.h). Returns the exit code.
int serve_node(const std::string& start);

}  // namespace stab::cluster
