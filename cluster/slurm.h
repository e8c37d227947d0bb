// SPDX-License-Identifier: MIT
// Slurm's programs and what they say. The first part starts them. The rest describes a step on a
// node as values: how it is started, and what the cluster says of its job.
#pragma once

#include <sys/types.h>

#include <boost/describe.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/fd.h"
#include "plan/plan.h"
#include "protocol/work.h"

namespace stab::cluster {

// A child with pipes for its streams. The destructor kills it.
class Process {
 public:
  // argv[0] is searched in our PATH. The child has our environment.
  static Result<Process> start(const std::vector<std::string>& argv);
  Process(Process&& other) noexcept;
  Process& operator=(Process&&) = delete;
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;
  ~Process();

  [[nodiscard]] int input() const { return input_.get(); }
  [[nodiscard]] int output() const { return output_.get(); }
  [[nodiscard]] int errors() const { return errors_.get(); }
  void close_input() { input_.reset(); }
  void signal(int number) const;
  // Waits until it has ended; returns false after the time.
  bool wait(std::chrono::milliseconds time);
  // Whether it has ended with exit code 0; only after wait() has returned true.
  [[nodiscard]] bool succeeded() const;

 private:
  Process() = default;
  pid_t pid_ = 0;
  int status_ = -1;
  bool ended_ = false;
  Fd input_;
  Fd output_;
  Fd errors_;
};

// Runs a program that prints little. The error says why there is no output: it did not start, did
// not end in time, or did not succeed.
Result<std::string> output_of(const std::vector<std::string>& argv, std::chrono::milliseconds time);

// Everything that the process on the daemon's machine needs to know (relays.h). It is passed as
// JSON.
struct StepStart {
  std::string program{};  // stabd, which has the same path on the node
  std::string name{};     // of the job: the next daemon finds leftovers by it
  std::string comment{};  // for people who look at the cluster's queue
  std::string token{};    // as in protocol/containment.h
  std::vector<std::string> names{};
  std::vector<std::string> others{};  // nodes that are not wanted
  std::string partition{};
  std::string account{};
  std::string qos{};
  std::string constraint{};
  std::string reservation{};
  std::int64_t minutes = 0;     // the allocation's time limit; 0: the partition's
  bool privileged = false;      // as in machine/containment.h
  bool network = true;          // the same
  std::int64_t silence_ms = 0;  // without a sign of life for so long, the other side counts as dead
  std::int64_t wait_ms = 0;     // how long to wait for a node
  std::size_t machines = 1;     // of the experiment, each of which has a name with its number
  // Starts no step, but frees what earlier ones have left under this name, or under this name with
  // a number.
  bool only_frees = false;
};
BOOST_DESCRIBE_STRUCT(StepStart, (),
                      (program, name, comment, token, names, others, partition, account, qos,
                       constraint, reservation, minutes, privileged, network, silence_ms, wait_ms,
                       machines, only_frees))

StepStart step_on(const plan::Machines& machines);

// The part of it that the process on the node needs (relays.h).
struct NodeStart {
  std::string token{};
  bool privileged = false;
  bool network = true;
  std::int64_t silence_ms = 0;
};
BOOST_DESCRIBE_STRUCT(NodeStart, (), (token, privileged, network, silence_ms))

// Without a sign of life for so long, the other side counts as dead, unless stabd's options differ.
inline constexpr std::chrono::milliseconds node_silence{30'000};

// How long the node's process may then take to end the worker and its trial.
inline constexpr std::chrono::milliseconds node_ending{15'000};

// The daemon's last line before it hangs up. If the stream ends without it, the daemon or srun is
// dead, and nobody else may be left who could free the allocation.
inline constexpr std::string_view leaving = "leaving";

// How often each side gives a sign of life.
std::chrono::milliseconds beat_of(std::chrono::milliseconds silence);

// How long a trial on a node lives at most after the node has heard from the daemon for the last
// time, unless the node's process is stopped.
std::chrono::milliseconds longest_life(std::chrono::milliseconds silence);

// The job's name. It has the host's name, because every system's daemon has a database at the same
// path; `database` tells the daemons of one host apart. Each place after the first has a number.
std::string job_name(std::string_view database, std::size_t place);

// The command that allocates a whole node and runs the step on it.
std::vector<std::string> step_command(const StepStart& step);

// A command of Slurm, and when stabd calls it.
struct SlurmCommand {
  std::string when{};
  std::vector<std::string> words{};
};
BOOST_DESCRIBE_STRUCT(SlurmCommand, (), (when, words))

// The commands that allocate the plan's nodes, run its experiment on them and drain them, in their
// order. Words in capitals stand for values that are known only when the experiment runs. `program`
// is stabd.
std::vector<SlurmCommand> slurm_commands(const plan::Plan& plan, const std::string& program,
                                         bool privileged);

// The job's comment. If the plan wants quiet nodes, packaging/slurm/quiet-node, which Slurm starts
// as root on the node before and after the job, finds in the comment the knobs to set and the number
// of CPUs that trials use:
// "experiment 7: NAME" or "experiment 7, quiet node (1 CPUs: ksm,swappiness): NAME".
std::string job_comment(const plan::Plan& plan, std::string_view number, std::string_view name);

// The command that lists the numbers and names of this user's jobs.
std::vector<std::string> list_jobs();

// The command that keeps Slurm from giving a node to further jobs.
std::vector<std::string> drain_command(const std::string& node, const std::string& reason);

// The numbers of the jobs that have the step's name, from lines with a number and a name.
std::vector<std::string> jobs_named(std::string_view text, const StepStart& step);

// Reads a line of 'scontrol --oneliner show job', which has the words "JobState=..." and
// "Restarts=...".
struct JobWords {
  std::string state{};   // "RUNNING"; "" if the line has no such word
  std::string reason{};  // "Resources", "None"
  bool restarted = false;
};
JobWords job_words(std::string_view line);

// Why a step is lost whose job has these words.
protocol::Loss loss_of(const JobWords& job);

// The lines in which Slurm's programs say what was wrong, joined, without the programs' names.
std::string errors_in(std::string_view text);

// A sentence for people: what happened, and what to do about it.
std::string sentence_of(protocol::Loss loss, const std::string& node, const std::string& job,
                        const std::string& detail);

}  // namespace stab::cluster
