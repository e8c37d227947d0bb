// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cluster/carrier.h"
#include "cluster/process.h"
#include "cluster/relays.h"
#include "cluster/step.h"
#include "machine/program.h"
#include "protocol/codec.h"

namespace stab::cluster {
namespace {

using protocol::Loss;
using std::chrono::milliseconds;
using Clock = Carrier::Clock;

constexpr int daemon_fd = 3;
constexpr milliseconds asking{10'000};  // for an answer of the controller
constexpr milliseconds pause{200};
constexpr milliseconds step_grace{8'000};  // less than the daemon's patience with a worker
constexpr milliseconds ending{3'000};
constexpr std::size_t most_errors = std::size_t{64} << 10;

// Whether the daemon has hung up. Its requests may still wait to be read.
bool hung_up(milliseconds time) {
  pollfd wait{daemon_fd, POLLRDHUP, 0};
  return poll(&wait, 1, static_cast<int>(time.count())) == 1;
}

class Head {
 public:
  explicit Head(StepStart step)
      : step_(std::move(step)), silence_(step_.silence_ms), wait_(step_.wait_ms) {}

  // Returns 0 if no job is left.
  int free_only() {
    const char* const path = std::getenv("PATH");
    // Without Slurm's programs no step has started. Any other trouble may leave a job.
    if (!machine::find_program("squeue", {fmt::format("PATH={}", path == nullptr ? "" : path)},
                               "/"))
      return 0;
    const auto freed = cancel_leftovers();
    if (!freed) fmt::print(stderr, "{}\n", freed.error().message);
    return freed && !hung_up(milliseconds(0)) ? 0 : 1;
  }

  int serve() {
    if (const auto version = output_of({"srun", "--version"}, asking); !version)
      return lost(Loss::cannot_start,
                  version.error().message + ": install Debian's package slurm-client");
    if (const auto why = cancel_leftovers(); !why)
      return lost(Loss::controller_away, why.error().message);
    if (hung_up(milliseconds(0))) return 0;
    auto srun = Process::start(step_command(step_));
    if (!srun) return lost(Loss::cannot_start, srun.error().message);
    return carry(*srun);
  }

 private:
  // H1
  Result<void> cancel_leftovers() {
    const auto until = Clock::now() + silence_ + asking;
    bool told = false;
    for (bool cancelled = false;;) {
      const auto all = output_of(list_jobs(), asking);
      if (!all) return std::unexpected(all.error());
      const auto jobs = jobs_named(*all, step_);
      if (jobs.empty()) return {};
      const std::string left = one_line(fmt::format("{}", fmt::join(jobs, " ")), 200);
      if (hung_up(milliseconds(0))) return {};
      if (!cancelled) {
        if (!std::exchange(told, true))
          fmt::print(stderr, "stabd cancels a job that an earlier stabd left behind: {}\n", left);
        std::vector<std::string> command{"scancel", fmt::format("--user={}", geteuid())};
        command.insert(command.end(), jobs.begin(), jobs.end());
        // It fails if a job ends meanwhile.
        cancelled = output_of(command, asking).has_value();
      }
      if (Clock::now() > until)
        return fail(fmt::format("a job that this stabd started earlier does not end: {}", left));
      if (hung_up(pause)) return {};
    }
  }

  int carry(Process& srun) {
    Carrier down(daemon_fd, srun.input(), Signs::go_on);
    Carrier up(srun.output(), daemon_fd, Signs::end_here,
               [this](Carrier& up, std::string_view line) { return look_at(up, line); });
    const auto since = Clock::now();
    while (!up.ended()) {
      std::array<pollfd, 5> wait{pollfd{down.reads(), POLLIN, 0}, pollfd{down.writes(), POLLOUT, 0},
                                 pollfd{up.reads(), POLLIN, 0}, pollfd{up.writes(), POLLOUT, 0},
                                 pollfd{errors_end_ ? -1 : srun.errors(), POLLIN, 0}};
      poll(wait.data(), wait.size(), static_cast<int>(beat_of(silence_).count()));
      if (wait[4].revents != 0) read_errors(srun);
      down.move();
      up.move();
      if (up.wants_more()) down.add("");
      if (down.ended() || up.broken()) return hang_up(srun, down);
      if (!node_.node.empty() && up.silent_for() > silence_) return abandon(srun, Loss::silent);
      if (node_.node.empty() && Clock::now() - since > wait_) return abandon(srun, Loss::no_node);
    }
    srun.wait(ending);
    read_last_errors(srun);
    up.flush(ending);
    if (has_said_why_) return 0;
    if (node_.node.empty())
      return tell(srun, controller_answers() ? Loss::cannot_start : Loss::controller_away);
    return tell(srun, std::nullopt);
  }

  // The node's first line goes on together with its first answer, for which the daemon waits. Its
  // last line may say why the worker has ended.
  bool look_at(Carrier& up, std::string_view line) {
    if (line.starts_with("{\"kind\":\"lost\"")) has_said_why_ = true;
    if (node_.node.empty() && line.starts_with("{\"kind\":\"node\"")) {
      if (auto said = protocol::decode<protocol::NodeReply>(line)) node_ = *std::move(said);
      first_line_ = line;
      return false;
    }
    if (!first_line_.empty()) up.add(std::exchange(first_line_, ""));
    return true;
  }

  void read_errors(const Process& srun) {
    std::array<char, 4096> buffer;
    const ssize_t n = read(srun.errors(), buffer.data(), buffer.size());
    if (n <= 0) {
      errors_end_ = n == 0 || errno != EINTR;
      return;
    }
    const std::string_view text(buffer.data(), static_cast<std::size_t>(n));
    // The daemon logs it.
    const auto ignored = write_all(STDERR_FILENO, text);
    static_cast<void>(ignored);
    errors_ += text;
    if (errors_.size() > most_errors) errors_.erase(0, errors_.size() - most_errors / 2);
  }

  // A process that srun has started may keep the pipe open.
  void read_last_errors(const Process& srun) {
    const auto until = Clock::now() + ending;
    pollfd wait{srun.errors(), POLLIN, 0};
    while (!errors_end_ && Clock::now() < until &&
           poll(&wait, 1, static_cast<int>(pause.count())) >= 0)
      if (wait.revents != 0) read_errors(srun);
  }

  static bool controller_answers() { return output_of({"scontrol", "ping"}, asking).has_value(); }

  // H3. The node ends the trial when its stream ends, and with the step the allocation ends.
  int hang_up(Process& srun, Carrier& down) {
    down.flush(pause);  // the daemon's farewell may still wait
    srun.close_input();
    if (node_.node.empty()) srun.signal(SIGINT);
    if (srun.wait(step_grace)) return 0;
    cancel_job();
    srun.signal(SIGTERM);
    srun.wait(ending);
    return 0;
  }

  void cancel_job() const {
    std::vector<std::string> command{"scancel", fmt::format("--user={}", geteuid()),
                                     "--name=" + step_.name};
    if (const auto done = output_of(command, asking); !done)
      fmt::print(stderr, "{}\n", done.error().message);
  }

  int abandon(Process& srun, Loss loss) {
    std::string detail;
    if (loss == Loss::no_node) {
      const auto waits = output_of({"squeue", "--noheader", "--format=%r", "--name=" + step_.name,
                                    fmt::format("--user={}", geteuid())},
                                   asking);
      if (waits) detail = fmt::format("Slurm's reason is {}", last_line(*waits, 200));
    }
    cancel_job();
    srun.signal(SIGTERM);
    if (!srun.wait(ending)) srun.signal(SIGKILL);
    if (loss == Loss::no_node) return lost(loss, detail);
    return tell(srun, loss);
  }

  // H2. Asks the controller why the step has ended if nobody knows.
  int tell(const Process& srun, std::optional<Loss> loss) {
    const auto dead_at = Clock::now() + silence_ + beat_of(silence_);
    const bool is_dead = srun.succeeded() || node_.node.empty();
    if (!is_dead && !loss) {
      JobWords job;
      do {
        const auto line = output_of({"scontrol", "--oneliner", "show", "job", node_.job}, asking);
        job = line ? job_words(*line) : JobWords();
      } while ((job.state == "COMPLETING" || job.state == "RUNNING") && Clock::now() < dead_at &&
               !hung_up(pause));
      loss = loss_of(job);
      if (*loss != Loss::controller_away) cancel_job();
    }
    while (!is_dead && Clock::now() < dead_at)
      if (hung_up(pause)) return 0;
    return lost(loss.value_or(Loss::step_lost), errors_in(errors_));
  }

  int lost(Loss loss, const std::string& detail) {
    const std::string line = protocol::encode(protocol::LostReply{
        .loss = std::string(to_string(loss)),
        .reason = one_line(sentence_of(loss, node_.node, node_.job, detail), 2000)});
    fcntl(daemon_fd, F_SETFL, fcntl(daemon_fd, F_GETFL) & ~O_NONBLOCK);
    return write_all(daemon_fd, line + "\n") ? 0 : 1;
  }

  StepStart step_;
  milliseconds silence_;
  milliseconds wait_;
  protocol::NodeReply node_;  // empty until the node has said where it is
  std::string first_line_;    // until it goes on
  bool has_said_why_ = false;
  bool errors_end_ = false;
  std::string errors_;
};

}  // namespace

int serve_head(const std::string& start) {
  if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) return 1;
  std::signal(SIGPIPE, SIG_IGN);
  fcntl(daemon_fd, F_SETFD, FD_CLOEXEC);
  auto step = protocol::from_text<StepStart>(start);
  if (!step || step->silence_ms < 1) return 2;
  const bool only_frees = step->only_frees;
  Head head(*std::move(step));
  return only_frees ? head.free_only() : head.serve();
}

}  // namespace stab::cluster
