// SPDX-License-Identifier: MIT

#include "cluster/relays.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <expected>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cluster/settings.h"
#include "cluster/slurm.h"
#include "machine/containment.h"
#include "machine/program.h"
#include "plan/texts.h"
#include "protocol/codec.h"
#include "protocol/containment.h"
#include "protocol/work.h"

namespace stab::cluster {
namespace {

void make_non_blocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

}  // namespace

Carrier::Carrier(int from, int to, Signs signs, Look look)
    : from_(from), to_(to), signs_(signs), look_(std::move(look)), lines_(protocol::max_work_line) {
  make_non_blocking(from);
  make_non_blocking(to);
}

void Carrier::move() {
  wants_more_ = false;
  if (reads() >= 0) read_some();
  if (writes() >= 0) write_some();
}

void Carrier::read_some() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(from_, buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0 || !lines_.add(std::string_view(buffer.data(), static_cast<std::size_t>(n)))) {
    ended_ = true;
    return;
  }
  heard_ = Clock::now();
  has_heard_ = true;
  wants_more_ = buffer[static_cast<std::size_t>(n) - 1] != '\n';
  while (const auto line = lines_.next()) {
    if (line->empty() && signs_ == Signs::end_here) continue;
    if (look_ && !line->empty() && !look_(*this, *line)) continue;
    waiting_ += *line;  // C1
    waiting_ += '\n';
  }
}

void Carrier::write_some() {
  const ssize_t n = write(to_, waiting_.data(), waiting_.size());
  if (n > 0) waiting_.erase(0, static_cast<std::size_t>(n));
  if (n < 0 && errno != EAGAIN && errno != EINTR) {
    broken_ = true;
    waiting_.clear();
  }
}

void Carrier::add(std::string_view line) {
  if (broken_) return;
  // The receiver does not read, so it does not need a further sign.
  if (line.empty() && waiting_.size() > most_waiting) return;
  waiting_ += line;
  waiting_ += '\n';
  write_some();
}

void Carrier::flush(std::chrono::milliseconds time) {
  const auto until = Clock::now() + time;
  while (writes() >= 0) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
    pollfd wait{to_, POLLOUT, 0};
    if (left <= 0 || poll(&wait, 1, static_cast<int>(left)) == 0) return;
    write_some();
  }
}

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
    if (!freed) fmt::print(stderr, "{}\n", freed.error().reason);
    return freed && !hung_up(milliseconds(0)) ? 0 : 1;
  }

  int serve() {
    if (const auto version = output_of({"srun", "--version"}, asking); !version)
      return lost(Loss::cannot_start,
                  version.error().message + ": install Debian's package slurm-client");
    if (const auto freed = cancel_leftovers(); !freed)
      return say_lost(freed.error().loss, freed.error().reason);
    if (hung_up(milliseconds(0))) return 0;
    auto srun = Process::start(step_command(step_));
    if (!srun) return lost(Loss::cannot_start, srun.error().message);
    return carry(*srun);
  }

 private:
  struct Trouble {
    Loss loss;
    std::string reason;
  };

  // H1
  std::expected<void, Trouble> cancel_leftovers() {
    const auto trouble = [](Loss loss, const std::string& detail) {
      return std::unexpected(Trouble{.loss = loss, .reason = sentence_of(loss, "", "", detail)});
    };
    const auto until = Clock::now() + longest_life(silence_) + asking;
    bool told = false;
    for (bool cancelled = false;;) {
      const auto all = output_of(list_jobs(), asking);
      if (!all) return trouble(Loss::controller_away, all.error().message);
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
      if (Clock::now() > until) return trouble(Loss::old_step, left);
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
      // A step that gives signs of life has its node, and waits for an earlier step there (N3).
      const auto most = wait_ + (up.has_heard() ? longest_life(silence_) : milliseconds(0));
      if (node_.node.empty() && Clock::now() - since > most) return abandon(srun, Loss::no_node);
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
      first_line_ = line;
      if (auto said = protocol::decode<protocol::NodeReply>(line)) {
        // The session hears of the node later, so it can't compare the clocks itself.
        said->heard_ns = wall_clock_ns();
        first_line_ = protocol::encode(*said);
        node_ = *std::move(said);
      }
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
    if (loss == Loss::no_node) return lost(loss, with_shortage(detail));
    return tell(srun, loss);
  }

  // H2. Asks the controller why the step has ended if nobody knows.
  int tell(const Process& srun, std::optional<Loss> loss) {
    const auto dead_at = Clock::now() + longest_life(silence_);
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
    const std::string errors = errors_in(errors_);
    return lost(loss.value_or(Loss::step_lost),
                loss == Loss::cannot_start ? with_shortage(errors) : errors);
  }

  // Adds to the reason why no node was found that the cluster has too few.
  [[nodiscard]] std::string with_shortage(const std::string& detail) const {
    if (!step_.names.empty()) return detail;
    const auto states = node_states(step_.partition);
    const std::string shortage =
        states ? shortage_in(*states, step_.machines, step_.partition) : "";
    return detail + (detail.empty() || shortage.empty() ? "" : "; ") + shortage;
  }

  int lost(Loss loss, const std::string& detail) {
    return say_lost(loss, sentence_of(loss, node_.node, node_.job, detail));
  }

  static int say_lost(Loss loss, const std::string& reason) {
    const std::string line = protocol::encode(protocol::LostReply{
        .loss = std::string(to_string(loss)), .reason = one_line(reason, 2000)});
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

namespace {

using protocol::LostReply;

constexpr milliseconds worker_grace{10'000};
constexpr milliseconds killing{10'000};
constexpr milliseconds last_words{2'000};
static_assert(killing + pause + last_words < node_ending);

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

// The folder that the user's steps share on a node.
struct OwnFiles {
  std::string cache;  // the folder for builds
  std::string lock;   // N3
};

// A home folder may be shared by nodes of different kinds, so builds are kept on the node. Their
// folder has the same path on each node: compilers write it into programs, and the nodes of an
// experiment need the same programs.
Result<OwnFiles> make_own_files(const std::string& node) {
  const std::string folder = fmt::format("/var/tmp/stabd-{}", geteuid());
  OwnFiles files{.cache = folder + "/builds", .lock = fmt::format("{}/{}.lock", folder, node)};
  for (const std::string& path : {folder, files.cache})
    if (auto made = make_own(path); !made) return std::unexpected(made.error());
  return files;
}

class Node {
 public:
  Node(NodeStart start, std::string name, std::string job)
      : start_(std::move(start)),
        silence_(start_.silence_ms),
        name_(std::move(name)),
        job_(std::move(job)) {}

  int serve() {
    auto files = make_own_files(name_);
    if (!files) return refuse(files.error().message);
    if (auto set = be_dumpable(false); !set) return refuse(set.error().message);
    const auto locked = lock_node(files->lock);
    if (!locked) return refuse(locked.error().message);
    if (*locked == Locked::busy) return say_lost(Loss::old_step, why_not_locked());
    if (*locked == Locked::hung_up) {
      free_allocation();
      return 0;
    }
    // The worker's namespaces are made through files in /proc that a process can't write if it is
    // not dumpable.
    if (auto set = be_dumpable(true); !set) return refuse(set.error().message);
    containment_ = machine::best_containment();
    if (auto ended = end_left_behind(); !ended)
      return say_lost(Loss::old_step, fmt::format("node {}: {}", name_, ended.error().message));
    if (auto started = start_worker(); !started) return refuse(started.error().message);
    if (auto set = be_dumpable(false); !set) return refuse(set.error().message);
    bool is_leaving = false;
    Carrier down(STDIN_FILENO, socket_.get(), Signs::end_here,
                 [&](Carrier&, std::string_view line) {
                   is_leaving = is_leaving || line == leaving;
                   return !is_leaving;
                 });
    Carrier up(socket_.get(), STDOUT_FILENO, Signs::end_here);
    up.add(protocol::encode(protocol::NodeReply{.version = STAB_VERSION,
                                                .node = name_,
                                                .job = job_,
                                                .cache = files->cache,
                                                .sent_ns = wall_clock_ns()}));
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
      if (down.ended() || up.broken()) return hang_up(up, down, is_leaving);
      if (down.silent_for() > silence_) return fall_silent(up);
      if (Carrier::Clock::now() < next_beat) continue;
      up.add("");
      next_beat = Carrier::Clock::now() + beat_of(silence_);
    }
  }

 private:
  // The worker has not started, so no trial can have failed.
  int refuse(const std::string& why) const {
    return say_lost(Loss::cannot_start, fmt::format("node {}: {}", name_, why));
  }
  static int say_lost(Loss loss, const std::string& why) {
    const std::string line = protocol::encode(
        LostReply{.loss = std::string(to_string(loss)), .reason = one_line(why, 2000)});
    return write_all(STDOUT_FILENO, line + "\n") ? 0 : 1;
  }

  // Whether other processes of the user may open our descriptors and memory.
  static Result<void> be_dumpable(bool dumpable) {
    if (prctl(PR_SET_DUMPABLE, dumpable ? 1 : 0, 0, 0, 0) != 0)
      return fail_errno("the kernel refuses PR_SET_DUMPABLE");
    return {};
  }

  // Another step still holds the lock (busy), or nobody waits for us any more (hung_up).
  enum class Locked { got, busy, hung_up };

  // N3. Meanwhile the head learns by signs of life that the step has its node.
  Result<Locked> lock_node(const std::string& path) {
    const auto until = Carrier::Clock::now() + longest_life(silence_);
    auto next_sign = Carrier::Clock::now();
    for (;;) {
      // Somebody may have removed the file or put another one in its place.
      lock_ = Fd(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
      if (!lock_) return fail_errno("cannot open " + path);
      const bool is_locked = flock(lock_.get(), LOCK_EX | LOCK_NB) == 0;
      if (!is_locked && errno != EWOULDBLOCK && errno != EINTR)
        return fail_errno("cannot lock " + path);
      if (is_locked && lock_is_at(path)) break;
      if (Carrier::Clock::now() > until) return Locked::busy;
      if (Carrier::Clock::now() >= next_sign) {
        const auto ignored = write_all(STDOUT_FILENO, "\n");
        static_cast<void>(ignored);
        next_sign = Carrier::Clock::now() + std::chrono::seconds(1);
      }
      pollfd hung_up{STDIN_FILENO, 0, 0};
      if (poll(&hung_up, 1, static_cast<int>(pause.count())) == 1) return Locked::hung_up;
    }
    // The text only helps people, so a full disk does not matter.
    if (ftruncate(lock_.get(), 0) == 0) {
      const auto ignored = write_all(lock_.get(), job_);
      static_cast<void>(ignored);
    }
    return Locked::got;
  }

  [[nodiscard]] bool lock_is_at(const std::string& path) const {
    struct stat ours{};
    struct stat found{};
    return fstat(lock_.get(), &ours) == 0 && lstat(path.c_str(), &found) == 0 &&
           ours.st_dev == found.st_dev && ours.st_ino == found.st_ino;
  }

  [[nodiscard]] std::string why_not_locked() const {
    std::array<char, 64> buffer;
    const ssize_t n = pread(lock_.get(), buffer.data(), buffer.size(), 0);
    const std::string job(buffer.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
    return fmt::format(
        "an earlier step of stabd{} still runs on node {}, so nothing else is measured there: end "
        "the process 'stabd --on-node' on that node, or restart the node",
        plan::is_node(job) ? fmt::format(" (job {})", job) : "", name_);
  }

  // N3. In a namespace, the processes of an earlier trial have ended with their worker.
  Result<void> end_left_behind() const {
    if (containment_ != machine::Containment::process_tree) return {};
    const auto ended = machine::end_marked(protocol::marker_variable(start_.token), killing);
    if (!ended) return std::unexpected(ended.error());
    return {};
  }

  Result<void> start_worker() {
    std::array<int, 2> ends{};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      return fail_errno("socketpair");
    socket_ = Fd(ends[0]);
    const Fd theirs(ends[1]);
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
    const auto until = Carrier::Clock::now() + killing;
    if (!has_ended(milliseconds(0))) {
      kill(worker_.pid, SIGKILL);
      // N3. A process that waits in the kernel ends late, if at all.
      while (!has_ended(killing)) {
      }
    }
    const std::string how = machine::how_it_ended(machine::reap(worker_.pid));
    if (containment_ == machine::Containment::process_tree) {
      const auto left = std::chrono::duration_cast<milliseconds>(until - Carrier::Clock::now());
      if (!machine::end_marked(protocol::marker_variable(start_.token), std::max(left, pause)))
        return 1;
    }
    up.add(protocol::encode(
        LostReply{.loss = std::string(to_string(loss)), .reason = why.empty() ? how : why}));
    up.flush(last_words);
    return 0;
  }

  // The daemon wants no more, so the worker ends its trial by itself. The time for that ends when
  // the daemon's silence would end the worker (N1).
  int hang_up(Carrier& up, const Carrier& down, bool is_orderly) {
    shutdown(socket_.get(), SHUT_RDWR);
    const auto left = silence_ - std::chrono::duration_cast<milliseconds>(down.silent_for());
    has_ended(std::clamp(left, milliseconds(0), worker_grace));
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
  Fd lock_;
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
