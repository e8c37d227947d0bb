// SPDX-License-Identifier: MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>

#include "base/text.h"
#include "cluster/carrier.h"
#include "cluster/process.h"
#include "cluster/relays.h"
#include "cluster/step.h"
#include "machine/containment.h"
#include "plan/texts.h"
#include "protocol/codec.h"
#include "protocol/containment.h"

namespace stab::cluster {
namespace {

using protocol::Loss;
using protocol::LostReply;
using std::chrono::milliseconds;

constexpr milliseconds worker_grace{10'000};
constexpr milliseconds killing{10'000};
constexpr milliseconds last_words{2'000};

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// Makes a folder that only we may enter, or finds it. Everybody may write to its parent, so what is
// already there may be somebody else's.
Result<void> make_own(const std::string& path) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno("cannot make the folder " + path + " for builds");
  struct stat found{};
  if (lstat(path.c_str(), &found) != 0) return fail_errno("cannot look at " + path);
  if (!S_ISDIR(found.st_mode) || found.st_uid != geteuid() || (found.st_mode & 022) != 0)
    return fail(path +
                " must be a folder that belongs to the experiment's user and that nobody "
                "else can write: remove it");
  return {};
}

// The folder for builds. A home folder may be shared by nodes of different kinds, so builds are
// kept on the node, and apart by its name.
Result<std::string> make_cache(const std::string& node) {
  std::string path = fmt::format("/var/tmp/stabd-{}", geteuid());
  if (auto made = make_own(path); !made) return std::unexpected(made.error());
  path += "/" + node;
  if (auto made = make_own(path); !made) return std::unexpected(made.error());
  return path;
}

class Node {
 public:
  Node(NodeStart start, std::string name, std::string job)
      : start_(std::move(start)),
        silence_(start_.silence_ms),
        name_(std::move(name)),
        job_(std::move(job)) {}

  int serve() {
    auto cache = make_cache(name_);
    if (!cache) return refuse(cache.error().message);
    if (auto started = start_worker(); !started) return refuse(started.error().message);
    // The worker's namespaces are made through files in /proc that a process can't write
    // once it is not dumpable.
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
      return refuse("the kernel refuses PR_SET_DUMPABLE");
    bool is_leaving = false;
    Carrier down(STDIN_FILENO, socket_.get(), Signs::end_here,
                 [&](Carrier&, std::string_view line) {
                   is_leaving = is_leaving || line == leaving;
                   return !is_leaving;
                 });
    Carrier up(socket_.get(), STDOUT_FILENO, Signs::end_here);
    up.add(protocol::encode(protocol::NodeReply{
        .version = STAB_VERSION, .node = name_, .job = job_, .cache = *std::move(cache)}));
    auto next_beat = Carrier::Clock::now();
    for (;;) {
      std::array<pollfd, 5> wait{pollfd{down.reads(), POLLIN, 0}, pollfd{down.writes(), POLLOUT, 0},
                                 pollfd{up.reads(), POLLIN, 0}, pollfd{up.writes(), POLLOUT, 0},
                                 pollfd{worker_.pidfd.get(), POLLIN, 0}};
      poll(wait.data(), wait.size(), static_cast<int>(beat_of(silence_).count()));
      if (has_ended(milliseconds(0))) {
        const auto until = Carrier::Clock::now() + last_words;
        while (!up.ended() && !up.broken() && Carrier::Clock::now() < until) up.move();
        return end(up, Loss::worker, "");
      }
      down.move();
      up.move();
      if (down.wants_more()) up.add("");
      if (down.ended() || up.broken()) return hang_up(up, is_leaving);
      if (down.silent_for() > silence_) return fall_silent(up);
      if (Carrier::Clock::now() < next_beat) continue;
      up.add("");
      next_beat = Carrier::Clock::now() + beat_of(silence_);
    }
  }

 private:
  // The worker has not started, so no trial can have failed.
  static int refuse(const std::string& why) {
    const std::string line = protocol::encode(LostReply{
        .loss = std::string(to_string(Loss::cannot_start)), .reason = one_line(why, 2000)});
    return write_all(STDOUT_FILENO, line + "\n") ? 0 : 1;
  }

  Result<void> start_worker() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      return fail_errno("socketpair");
    socket_ = Fd(ends[0]);
    const Fd theirs(ends[1]);
    containment_ = machine::best_containment();
    machine::ContainedStart what;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe").string();
    what.argv = {program, "--worker"};
    what.environment = protocol::worker_environment(containment_, start_.token);
    what.environment.push_back(fmt::format("{}={}", protocol::node_name, name_));
    what.containment = containment_;
    what.uid = geteuid();
    what.gid = getegid();
    what.privileged = start_.privileged;
    what.network = start_.network;
    what.limits_by = program;
    what.limited = false;
    what.passed_fd = theirs.get();
    what.output_fd = STDERR_FILENO;
    auto worker = machine::start_contained(what);
    if (!worker) return std::unexpected(worker.error());
    worker_ = *std::move(worker);
    return {};
  }

  bool has_ended(milliseconds time) const {
    pollfd wait{worker_.pidfd.get(), POLLIN, 0};
    return poll(&wait, 1, static_cast<int>(time.count())) == 1;
  }

  // N2. Returns the exit code.
  int end(Carrier& up, Loss loss, const std::string& why) {
    if (!has_ended(milliseconds(0))) {
      kill(worker_.pid, SIGKILL);
      if (!has_ended(killing)) return 1;
    }
    const std::string how = machine::how_it_ended(machine::reap(worker_.pid));
    if (containment_ == machine::Containment::process_tree)
      if (!machine::end_marked(protocol::marker_variable(start_.token), killing)) return 1;
    up.add(protocol::encode(
        LostReply{.loss = std::string(to_string(loss)), .reason = why.empty() ? how : why}));
    up.flush(last_words);
    return 0;
  }

  // The daemon wants no more, so the worker ends its trial by itself.
  int hang_up(Carrier& up, bool is_orderly) {
    shutdown(socket_.get(), SHUT_RDWR);
    has_ended(worker_grace);
    const int code = end(up, Loss::worker, "");
    if (!is_orderly) free_allocation();
    return code;
  }

  void free_allocation() const {
    if (const auto freed = output_of({"scancel", job_}, killing); !freed)
      fmt::print(stderr, "{}\n", freed.error().message);
  }

  // N1
  int fall_silent(Carrier& up) {
    const std::string why =
        fmt::format("node {} received nothing from stabd for {} s", name_, silence_.count() / 1000);
    fmt::print(stderr, "{}\n", why);
    const int code = end(up, Loss::silent, why);
    free_allocation();
    return code;
  }

  NodeStart start_;
  milliseconds silence_;
  std::string name_;
  std::string job_;
  Fd socket_;
  machine::Containment containment_ = machine::Containment::process_tree;
  machine::Contained worker_;
};

}  // namespace

int serve_node(const std::string& start) {
  std::signal(SIGPIPE, SIG_IGN);
  auto read = protocol::from_text<NodeStart>(start);
  const std::string name = variable("SLURMD_NODENAME");
  const std::string job = variable("SLURM_JOB_ID");
  if (!read || read->silence_ms < 1 || !plan::is_node(name) || !plan::is_node(job)) {
    fmt::print(stderr,
               "stabd: only stabd itself may start 'stabd --on-node', as a step of a Slurm job\n");
    return 2;
  }
  return Node(*std::move(read), name, job).serve();
}

}  // namespace stab::cluster
