// SPDX-License-Identifier: MIT

#include "cluster/slurm.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <utility>

#include "base/text.h"
#include "machine/quiet/quiet.h"
#include "protocol/codec.h"

namespace stab::cluster {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t most_output = std::size_t{64} << 20;  // 64,000 nodes

struct Pipe {
  Fd read;
  Fd write;
};

Result<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

}  // namespace

Result<Process> Process::start(const std::vector<std::string>& argv) {
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err) return fail_errno("cannot make a pipe");
  posix_spawn_file_actions_t streams;
  posix_spawn_file_actions_init(&streams);
  posix_spawn_file_actions_adddup2(&streams, in->read.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&streams, out->write.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&streams, err->write.get(), STDERR_FILENO);
  // We ignore SIGPIPE, but Slurm's programs need not.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  std::vector<char*> words;
  for (const std::string& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  Process process;
  const int failed =
      posix_spawnp(&process.pid_, words[0], &streams, &attributes, words.data(), environ);
  posix_spawn_file_actions_destroy(&streams);
  posix_spawnattr_destroy(&attributes);
  if (failed != 0) {
    process.pid_ = 0;
    errno = failed;
    return fail_errno("cannot start " + argv[0]);
  }
  process.input_ = std::move(in->write);
  process.output_ = std::move(out->read);
  process.errors_ = std::move(err->read);
  return process;
}

Process::Process(Process&& other) noexcept
    : pid_(std::exchange(other.pid_, 0)),
      status_(other.status_),
      ended_(other.ended_),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)) {}

Process::~Process() {
  if (pid_ == 0 || ended_) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Process::signal(int number) const {
  if (!ended_) kill(pid_, number);
}

bool Process::wait(std::chrono::milliseconds time) {
  constexpr std::chrono::milliseconds step{5};
  const auto until = steady_clock::now() + time;
  while (!ended_) {
    if (waitpid(pid_, &status_, WNOHANG) == pid_)
      ended_ = true;
    else if (steady_clock::now() >= until)
      return false;
    else
      usleep(static_cast<useconds_t>(std::chrono::microseconds(step).count()));
  }
  return true;
}

bool Process::succeeded() const {
  return ended_ && WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
}

Result<std::string> output_of(const std::vector<std::string>& argv,
                              std::chrono::milliseconds time) {
  auto process = Process::start(argv);
  if (!process) return std::unexpected(process.error());
  process->close_input();
  const auto until = steady_clock::now() + time;
  std::string text;
  std::string errors;
  std::array<pollfd, 2> streams{pollfd{process->output(), POLLIN, 0},
                                pollfd{process->errors(), POLLIN, 0}};
  while (streams[0].fd >= 0 || streams[1].fd >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - steady_clock::now()).count();
    if (left <= 0 || poll(streams.data(), streams.size(), static_cast<int>(left)) == 0)
      return fail(fmt::format("{} did not answer in time", argv[0]));
    for (auto& [stream, into] : {std::pair(&streams[0], &text), {&streams[1], &errors}}) {
      if (stream->revents == 0) continue;
      std::array<char, 4096> buffer;
      const ssize_t n = read(stream->fd, buffer.data(), buffer.size());
      if (into->size() > most_output) return fail(fmt::format("{} says too much", argv[0]));
      if (n > 0) into->append(buffer.data(), std::size_t(n));
      if (n == 0 || (n < 0 && errno != EINTR)) stream->fd = -1;
    }
  }
  if (!process->wait(std::chrono::milliseconds(1000)) || !process->succeeded())
    return fail(fmt::format("{} failed: {}", argv[0], last_line(errors, 300)));
  return text;
}

namespace {

using protocol::Loss;

constexpr std::size_t most_detail = 800;

// Calls `use` for each part of the text between separators.
template <class Use>
void split(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

StepStart step_on(const plan::Machines& machines) {
  StepStart step{.names = machines.names,
                 .partition = machines.partition,
                 .account = machines.account,
                 .qos = machines.qos,
                 .constraint = machines.constraint,
                 .reservation = machines.reservation,
                 .machines = std::max<std::size_t>(machines.nodes, 1)};
  if (machines.time_limit)
    step.minutes = std::max<std::int64_t>(
        1, std::chrono::ceil<std::chrono::minutes>(*machines.time_limit).count());
  return step;
}

std::chrono::milliseconds beat_of(std::chrono::milliseconds silence) {
  constexpr int beats = 6;
  return std::max(silence / beats, std::chrono::milliseconds(50));
}

std::chrono::milliseconds longest_life(std::chrono::milliseconds silence) {
  return silence + beat_of(silence) + node_ending;
}

// The allocation is salloc's, because a step has all CPUs of its node only inside of one: with
// --exclusive, an allocation of srun's own gives its step one CPU. Without --export and --propagate,
// the daemon's environment and limits would reach the node.
std::vector<std::string> step_command(const StepStart& step) {
  std::vector<std::string> words{
      "salloc",      "--quiet", "--job-name=" + step.name, "--comment=" + step.comment, "--nodes=1",
      "--exclusive", "--mem=0"};
  for (const auto& [option, value] : {std::pair("partition", &step.partition),
                                      {"account", &step.account},
                                      {"qos", &step.qos},
                                      {"constraint", &step.constraint},
                                      {"reservation", &step.reservation}})
    if (!value->empty()) words.push_back(fmt::format("--{}={}", option, *value));
  if (!step.names.empty())
    words.push_back(fmt::format("--nodelist={}", fmt::join(step.names, ",")));
  if (!step.others.empty())
    words.push_back(fmt::format("--exclude={}", fmt::join(step.others, ",")));
  if (step.minutes > 0) words.push_back(fmt::format("--time={}", step.minutes));
  for (const char* word : {"srun", "--ntasks=1", "--cpu-bind=none", "--export=NONE",
                           "--propagate=NONE", "--mpi=none", "--chdir=/", "--quit-on-interrupt"})
    words.emplace_back(word);
  words.push_back(step.program);
  words.push_back("--on-node");
  words.push_back(protocol::to_text(NodeStart{.token = step.token,
                                              .privileged = step.privileged,
                                              .network = step.network,
                                              .silence_ms = step.silence_ms},
                                    -1));
  return words;
}

std::string job_name(std::string_view database, std::size_t place) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string name = fmt::format("stabd-{}-{}", host.data(), database.substr(0, 12));
  return place == 0 ? name : fmt::format("{}-{}", name, place);
}

std::string job_comment(const plan::Plan& plan, std::string_view number, std::string_view name) {
  std::vector<std::string_view> knobs;
  const auto chosen = machine::choose_knobs(plan.knobs);
  if (plan.machines && plan.quiesce != plan::Quiesce::off && chosen)
    for (const machine::Knob* knob : *chosen)
      if (!machine::is_for_experiments(*knob)) knobs.push_back(knob->name);
  const std::string wish =
      knobs.empty() ? ""
                    : fmt::format(", quiet node ({} CPUs: {})", plan.cpus, fmt::join(knobs, ","));
  return fmt::format("experiment {}{}: {}", number, wish, one_line(name, 100));
}

std::vector<SlurmCommand> slurm_commands(const plan::Plan& plan, const std::string& program,
                                         bool privileged) {
  const plan::Machines machines = plan.machines.value_or(plan::Machines{});
  std::vector<SlurmCommand> commands{{.when = "Before each node is allocated: look for jobs that "
                                              "an earlier stabd left behind, and end them with "
                                              "scancel",
                                      .words = list_jobs()}};
  for (std::size_t place = 0; place < machines.nodes; ++place) {
    plan::Machines here = machines;
    if (!machines.names.empty()) here.names = {machines.names.at(place)};
    StepStart step = step_on(here);
    step.program = program;
    step.name = job_name("DATABASE", place);
    step.comment = job_comment(plan, "NUMBER", "NAME");
    step.token = "TOKEN";
    step.network = plan.network;
    step.privileged = privileged;
    step.silence_ms = std::chrono::milliseconds(node_silence).count();
    if (machines.names.empty() && place > 0) step.others = {"OTHER_NODES"};
    const std::string node = machines.names.empty()
                                 ? fmt::format("Node {} of {}", place + 1, machines.nodes)
                                 : "Node " + machines.names.at(place);
    commands.push_back({.when = node + ": allocate it, and run the experiment's worker on it",
                        .words = step_command(step)});
  }
  if (machines.drain)
    commands.push_back({.when = "At the end: drain each node that is out of order",
                        .words = drain_command("NODE", "REASON")});
  return commands;
}

std::vector<std::string> list_jobs() {
  return {"squeue", "--noheader", "--format=%i %j", fmt::format("--user={}", geteuid())};
}

std::vector<std::string> drain_command(const std::string& node, const std::string& reason) {
  return {"scontrol", "update", "nodename=" + node, "state=drain", "reason=" + reason};
}

std::vector<std::string> jobs_named(std::string_view text, const StepStart& step) {
  std::vector<std::string> jobs;
  split(text, '\n', [&](std::string_view line) {
    const std::size_t middle = line.find(' ');
    if (middle == std::string_view::npos) return;
    const std::string_view name = line.substr(middle + 1);
    bool is_ours = name == step.name;
    if (name.starts_with(step.name + "-")) {
      const std::string_view rest = name.substr(step.name.size() + 1);
      std::size_t number = 0;
      const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
      const bool is_number = error == std::errc() && end == rest.data() + rest.size();
      // A job of a place that this experiment does not have is left from an earlier one.
      is_ours = step.only_frees || (is_number && number >= step.machines);
    }
    if (is_ours) jobs.emplace_back(line.substr(0, middle));
  });
  return jobs;
}

JobWords job_words(std::string_view line) {
  JobWords words;
  split(line, ' ', [&](std::string_view word) {
    const std::size_t middle = word.find('=');
    if (middle == std::string_view::npos) return;
    const std::string_view name = word.substr(0, middle);
    const std::string_view value = word.substr(middle + 1);
    // A user may choose the words that follow these, such as the job's comment.
    if (name == "JobState" && words.state.empty()) words.state = value;
    if (name == "Reason" && words.reason.empty()) words.reason = value;
    if (name == "Restarts") words.restarted = words.restarted || value != "0";
  });
  return words;
}

Loss loss_of(const JobWords& job) {
  static constexpr std::array<std::pair<std::string_view, Loss>, 9> states{
      {{"NODE_FAIL", Loss::node_lost},
       {"BOOT_FAIL", Loss::node_lost},
       {"PREEMPTED", Loss::preempted},
       {"REQUEUED", Loss::requeued},
       {"REQUEUE_HOLD", Loss::requeued},
       {"PENDING", Loss::requeued},
       {"TIMEOUT", Loss::time_limit},
       {"DEADLINE", Loss::time_limit},
       {"CANCELLED", Loss::cancelled}}};
  if (job.state.empty()) return Loss::controller_away;
  if (job.restarted) return Loss::requeued;
  for (const auto& [state, loss] : states)
    if (job.state == state) return loss;
  return Loss::step_lost;
}

std::string errors_in(std::string_view text) {
  std::string found;
  split(text, '\n', [&](std::string_view line) {
    if (!line.starts_with("salloc: ") && !line.starts_with("srun: ") &&
        !line.starts_with("slurmstepd"))
      return;
    line.remove_prefix(std::min(line.find(": ") + 2, line.size()));
    if (line.starts_with("error: ")) line.remove_prefix(7);
    if (line.starts_with("fatal: ")) line.remove_prefix(7);
    if (!found.empty()) found += "; ";
    found += line;
  });
  return one_line(found, most_detail);
}

std::string sentence_of(Loss loss, const std::string& node, const std::string& job,
                        const std::string& detail) {
  const std::string place =
      node.empty() ? "the cluster" : fmt::format("node {} (job {})", node, job);
  const std::string why = detail.empty() ? "" : fmt::format(": {}", detail);
  switch (loss) {
    case Loss::worker:
      return detail;
    case Loss::cannot_start:
      return fmt::format(
          "Slurm can't start a step{}. Change [machines] in the plan, or ask the cluster's "
          "administrator; 'sinfo' shows partitions and nodes",
          why);
    case Loss::no_node:
      return fmt::format(
          "no node was free in time{}. 'stabctl retry' tries again, but an experiment that has "
          "begun stays on its node; to use another node, submit the plan again",
          why);
    case Loss::controller_away:
      return fmt::format("Slurm's controller does not answer{}", why);
    case Loss::node_lost:
      return fmt::format("{} failed{}", place, why);
    case Loss::preempted:
      return fmt::format("another job took {}{}", place, why);
    case Loss::requeued:
      return fmt::format("the job on {} is back in the cluster's queue{}", place, why);
    case Loss::time_limit:
      return fmt::format(
          "the time limit of the allocation on {} has passed{}. The interrupted block runs again; "
          "with a longer machines.time_limit, which the partition must allow, this happens less "
          "often",
          place, why);
    case Loss::cancelled:
      return fmt::format("somebody cancelled the job on {}{}", place, why);
    case Loss::old_step:
      return fmt::format(
          "no step can start, because a job that stabd started earlier has not ended{}. 'squeue' "
          "shows the job's state; the cluster's administrator can end a job that stays in the "
          "state COMPLETING",
          why);
    case Loss::silent:
      return fmt::format("{} stopped answering{}", place, why);
    case Loss::step_lost:
      break;
  }
  return fmt::format("the step on {} is lost{}", place, why);
}

}  // namespace stab::cluster
