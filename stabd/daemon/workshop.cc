// SPDX-License-Identifier: MIT

#include "stabd/daemon/workshop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spdlog/spdlog.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "base/hash.h"
#include "base/text.h"
#include "base/time.h"
#include "protocol/codec.h"
#include "protocol/containment.h"
#include "stabd/daemon/host.h"

namespace stab::daemon {
namespace {

// Limits for all output of one worker, and for one line of it.
constexpr std::size_t most_logged = std::size_t{8} << 10;
constexpr std::size_t most_of_line = 500;
constexpr std::chrono::milliseconds grace{15'000};
constexpr int max_send_waits = 10'000;  // about a second
// A killed process ends much sooner, unless a tracer or the kernel keeps it. It can't run its own
// code any more, so we stop waiting for it.
constexpr std::chrono::milliseconds killing{10'000};
constexpr std::chrono::seconds turn{1};

// The worker that the daemon's folder names. pid 0: none.
struct Recorded {
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot{};
  bool isolated = false;
};
BOOST_DESCRIBE_STRUCT(Recorded, (), (pid, start_ticks, boot, isolated))

Result<void> remember(const std::string& record, pid_t pid, machine::Containment containment) {
  const auto identity = machine::identify(pid);
  if (!identity) return fail("the worker ended immediately");
  return write_file_atomically(
      record,
      protocol::to_text(Recorded{.pid = identity->pid,
                                 .start_ticks = identity->start_ticks,
                                 .boot = identity->boot,
                                 .isolated = containment == machine::Containment::pid_namespace},
                        -1));
}

// Without a pid namespace, processes that the worker started may outlive it.
void end_left_behind(const WorkerStart& start) {
  if (start.containment == machine::Containment::pid_namespace) return;
  const auto ended = machine::end_marked(protocol::marker_variable(start.token), killing);
  if (!ended) spdlog::error("{}", ended.error().message);
}

template <class Handle>
WorkerProcess* worker_of(Handle* handle) {
  return static_cast<WorkerProcess*>(handle->data);
}

}  // namespace

WorkerProcess::WorkerProcess(Clock& clock, std::size_t place, const WorkerStart& start,
                             WorkerEvents& events)
    : place_(place),
      start_(start),
      events_(events),
      grace_(clock.timer([this] { kill_now(); })),
      killing_(clock.timer([this] { give_up(); })),
      answer_(clock.timer([this] { fell_silent(); })),
      beat_(clock.timer([this] { give_sign(); })) {}

Result<std::shared_ptr<WorkerProcess>> WorkerProcess::start(Clock& clock, uv_loop_t* loop,
                                                            std::size_t place,
                                                            const WorkerStart& start,
                                                            WorkerEvents& events) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return fail_errno("cannot make a pipe");
  Fd printed(ends[0]);
  const Fd print(ends[1]);

  machine::ContainedStart what;
  what.argv = {start.program};
  what.argv.insert(what.argv.end(), start.arguments.begin(), start.arguments.end());
  what.environment = protocol::worker_environment(start.containment, start.token);
  what.environment.insert(what.environment.end(), start.environment.begin(),
                          start.environment.end());
  what.containment = start.containment;
  what.uid = start.uid;
  what.gid = start.gid;
  what.privileged = start.privileged;
  what.network = start.network;
  what.doors = start.doors;
  what.limits_by = start.program;
  what.limited = false;  // its programs are limited, not the worker itself
  what.passed_fd = theirs.get();
  what.output_fd = print.get();
  auto process = machine::start_contained(what);
  if (!process) return std::unexpected(process.error());
  // The worker has no request yet: if we die before the record is written, it just ends.
  if (auto remembered = remember(start.record, process->pid, start.containment); !remembered) {
    kill(process->pid, SIGKILL);
    waitpid(process->pid, nullptr, 0);
    return fail("cannot start a worker: " + remembered.error().message);
  }

  std::shared_ptr<WorkerProcess> worker(new WorkerProcess(clock, place, start, events));
  worker->process_ = std::move(*process);
  worker->socket_ = std::move(ours);
  worker->printed_ = std::move(printed);
  worker->self_ = worker;
  for (const auto& [poll, fd] : {std::pair(&worker->socket_poll_, worker->socket_.get()),
                                 std::pair(&worker->printed_poll_, worker->printed_.get()),
                                 std::pair(&worker->process_poll_, worker->process_.pidfd.get())}) {
    if (const int failed = uv_poll_init(loop, poll, fd); failed != 0) {
      worker->discard();
      return fail(fmt::format("cannot watch a worker process: {}", uv_strerror(failed)));
    }
    poll->data = worker.get();
    ++worker->open_handles_;
  }
  uv_poll_start(&worker->socket_poll_, UV_READABLE,
                [](uv_poll_t* handle, int, int) { worker_of(handle)->read_some(); });
  uv_poll_start(&worker->printed_poll_, UV_READABLE,
                [](uv_poll_t* handle, int, int) { worker_of(handle)->log_some(); });
  uv_poll_start(&worker->process_poll_, UV_READABLE,
                [](uv_poll_t* handle, int, int) { worker_of(handle)->process_ended(); });
  if (start.beat.count() > 0) worker->beat_->start(start.beat, start.beat);
  return worker;
}

// send() writes whole lines, so the byte divides none. If there is no room for it, the worker has
// bytes to read, which are signs of life, too.
void WorkerProcess::give_sign() {
  if (asked_ || !socket_) return;
  const auto ignored = ::send(socket_.get(), "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  static_cast<void>(ignored);
}

void WorkerProcess::send(const std::string& line, std::chrono::nanoseconds within) {
  if (asked_ || !socket_) return;
  within_ = within;
  late_ = false;
  expect_answer(within);
  // libuv made the descriptor non-blocking. The worker reads as soon as it is idle, so we wait
  // rarely and briefly.
  const std::string all = line + "\n";
  std::string_view rest = all;
  int waits = 0;
  while (!rest.empty()) {
    const ssize_t n = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (n > 0) {
      rest.remove_prefix(static_cast<std::size_t>(n));
    } else if (errno == EAGAIN) {
      if (++waits > max_send_waits) return stop();  // the worker hangs or is stopped
      usleep(100);
    } else if (errno != EINTR) {
      return kill_now();  // if it has not ended already; the loop reports its end
    }
  }
}

bool WorkerProcess::read_some() {
  std::array<char, 65536> buffer;
  const ssize_t n = read(socket_.get(), buffer.data(), buffer.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (n <= 0) {
    uv_poll_stop(&socket_poll_);  // the pidfd reports its end
    return false;
  }
  if (!lines_.add(std::string_view(buffer.data(), static_cast<std::size_t>(n)))) {
    stop();
    return false;
  }
  const auto alive = self_;  // a line may end this worker
  while (auto line = lines_.next()) {
    if (answer_) answer_->stop();
    if (!asked_) events_.worker_said(*line, place_);
  }
  return true;
}

// Beyond the limit we close the pipe. Otherwise the worker could keep us busy with output that
// nobody keeps.
bool WorkerProcess::log_some() {
  std::array<char, 4096> buffer;
  const ssize_t n = printed_ ? read(printed_.get(), buffer.data(), buffer.size()) : 0;
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  const auto log = [this](std::string_view line) {
    if (!line.empty())
      spdlog::warn("a worker of user {} printed: {}", start_.uid, one_line(line, most_of_line));
  };
  if (n > 0) {
    logged_ += static_cast<std::size_t>(n);
    unfinished_.append(buffer.data(), static_cast<std::size_t>(n));
    for (std::size_t end = 0; (end = unfinished_.find('\n')) != std::string::npos;) {
      log(std::string_view(unfinished_).substr(0, end));
      unfinished_.erase(0, end + 1);
    }
    if (unfinished_.size() > most_of_line) log(std::exchange(unfinished_, ""));
    if (logged_ <= most_logged) return true;
    spdlog::warn("a worker of user {} printed more than {} bytes: the rest is not logged",
                 start_.uid, most_logged);
  }
  log(std::exchange(unfinished_, ""));
  if (printed_) hang_up();
  return false;
}

// The handle must be closed before its descriptor. Otherwise the number may already belong to a new
// client, which the loop would forget.
void WorkerProcess::hang_up() {
  uv_close(reinterpret_cast<uv_handle_t*>(&printed_poll_), handle_closed);
  printed_.reset();
}

void WorkerProcess::stop() {
  if (std::exchange(asked_, true)) return;
  if (!start_.farewell.empty()) {
    const std::string line = start_.farewell + "\n";
    const auto ignored =
        ::send(socket_.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    static_cast<void>(ignored);
  }
  shutdown(socket_.get(), SHUT_RDWR);
  killing_->stop();
  grace_->start(grace);
}

void WorkerProcess::kill_now() {
  kill(process_.pid, SIGKILL);
  grace_->stop();
  killing_->start(killing);
}

void WorkerProcess::give_up() {
  spdlog::error("process {} and its children were killed but do not end", process_.pid);
  machine::reap(process_.pid);  // reaps it whenever it ends
  finish(
      "was killed but does not end: one of its processes waits in the kernel, or is traced by a "
      "process outside the trial");
}

void WorkerProcess::expect_answer(std::chrono::nanoseconds within) {
  answer_->start(std::chrono::ceil<std::chrono::milliseconds>(within));
}

// The first time we wait a little longer: if the loop was late itself, its next turn reads the
// answer. After that the worker is killed, because it does not listen to a request to stop.
void WorkerProcess::fell_silent() {
  if (!std::exchange(late_, true)) return expect_answer(turn);
  if (std::exchange(asked_, true)) return;
  const auto alive = self_;
  kill_now();
  events_.worker_silent(fmt::format("did not answer within {}", format_duration(within_)), place_);
}

void WorkerProcess::process_ended() {
  pollfd wait{process_.pidfd.get(), POLLIN, 0};
  if (poll(&wait, 1, 0) != 1) return;
  const auto alive = self_;
  answer_->stop();
  while (read_some()) {
    // reads its last lines
  }
  while (log_some()) {
    // and its last output
  }
  finish(machine::how_it_ended(machine::reap(process_.pid)));
}

void WorkerProcess::finish(const std::string& how) {
  const auto alive = self_;
  close_handles();
  end_left_behind(start_);
  unlink(start_.record.c_str());
  events_.worker_ended(how, place_);
}

// Drops a worker that has no request yet. The loop does not know polls whose start failed.
void WorkerProcess::discard() {
  kill(process_.pid, SIGKILL);
  waitpid(process_.pid, nullptr, 0);
  for (uv_poll_t* poll : {&socket_poll_, &printed_poll_, &process_poll_})
    if (poll->data != nullptr) uv_close(reinterpret_cast<uv_handle_t*>(poll), handle_closed);
  drop_timers();
  end_left_behind(start_);
  unlink(start_.record.c_str());
  if (open_handles_ == 0) self_.reset();
}

void WorkerProcess::drop_timers() {
  for (auto* timer : {&grace_, &killing_, &answer_, &beat_}) timer->reset();
}

void WorkerProcess::handle_closed(uv_handle_t* handle) {
  WorkerProcess* worker = worker_of(handle);
  if (--worker->open_handles_ == 0) worker->self_.reset();
}

void WorkerProcess::close_handles() {
  if (printed_) hang_up();
  uv_close(reinterpret_cast<uv_handle_t*>(&socket_poll_), handle_closed);
  uv_close(reinterpret_cast<uv_handle_t*>(&process_poll_), handle_closed);
  drop_timers();
}

Result<void> end_recorded_worker(const std::string& record, const std::string& token) {
  bool isolated = false;
  if (const auto text = read_file(record, 65536)) {
    const Recorded recorded = protocol::from_text<Recorded>(*text).value_or(Recorded{});
    isolated = recorded.isolated;
    const auto gone = machine::end_process(
        {.pid = recorded.pid, .start_ticks = recorded.start_ticks, .boot = recorded.boot}, killing);
    if (!gone) return std::unexpected(gone.error());
    if (!*gone)
      spdlog::warn(
          "stabd killed the worker {} of an interrupted trial, but the worker does not end: one of "
          "its processes waits in the kernel, or is traced by a process outside the trial",
          recorded.pid);
    unlink(record.c_str());
  }
  if (isolated) return {};
  const auto marked = machine::end_marked(protocol::marker_variable(token), killing);
  if (!marked)
    spdlog::warn("{}", marked.error().message);
  else if (*marked > 0)
    spdlog::warn("ended {} processes of an interrupted trial", *marked);
  return {};
}

Workshop::Workshop(Clock& clock, uv_loop_t* loop, WorkshopOptions options, WorkerEvents& events)
    : clock_(clock),
      loop_(loop),
      options_(std::move(options)),
      events_(events),
      containment_(options_.isolate ? machine::best_containment()
                                    : machine::Containment::process_tree),
      keeper_(options_.machine_logs, options_.machine_root) {}

Result<void> Workshop::prepare() {
  // A killed daemon may have confined the process that started us, and so us, to the CPUs that
  // trials do not use. So this comes before current_cpus().
  put_back_what_was_left(options_.machine_logs, options_.machine_root);
  allowed_cpus_ = current_cpus();
  std::error_code error;
  token_ = sha256_hex(std::filesystem::canonical(options_.database, error).string()).substr(0, 32);
  if (containment_ == machine::Containment::process_tree)
    spdlog::warn(
        "stabd uses no pid namespaces here. If a killed trial leaves processes behind, stabd "
        "recognizes them by their environment variables");
  for (std::size_t place = 0; place < plan::max_machines; ++place) {
    if (place > 0 && access(record_of(place).c_str(), F_OK) != 0) continue;
    if (auto ended = end_recorded_worker(record_of(place), token_of(place)); !ended) return ended;
  }
  prepare_groups();
  return {};
}

// If the earlier daemon used namespaces, the processes in its remaining groups died together with
// their worker.
void Workshop::prepare_groups() {
  const std::string owner = token_.substr(0, 8);
  if (const unsigned left = machine::remove_left_groups(owner); left != 0)
    spdlog::warn("removed {} cgroups of an interrupted trial", left);
  if (!options_.groups) {
    no_groups_ = "stabd's setting daemon.cgroups turns cgroups off";
  } else if (const auto group = machine::TrialGroup::make(owner); !group) {
    no_groups_ = group.error().message;
  }
  if (!no_groups_.empty())
    spdlog::info("trials have no cgroup: {}; stabd checks the limits itself (doc/limits.md)",
                 no_groups_);
}

Result<void> Workshop::start(const store::Experiment& experiment, bool privileged, bool network) {
  const std::string cache = cache_of(experiment);
  if (auto made = make_passable_folder(options_.cache_directory); !made) return made;
  if (geteuid() == 0 && experiment.uid != 0) warn_if_closed(options_.cache_directory);
  if (auto made = make_private_folder(cache); !made) return made;
  run_on(allowed_cpus_);  // a worker starts with all CPUs that we may use
  look_at_cpus();
  if (geteuid() == 0 && chown(cache.c_str(), experiment.uid, experiment.gid) != 0)
    return fail_errno("cannot give " + cache + " to the submitter");
  group_.reset();
  if (no_groups_.empty()) {
    auto group = machine::TrialGroup::make(token_.substr(0, 8));
    if (!group) return fail(group.error().message);
    group_ = *std::move(group);
  }
  return start(0, {.program = options_.program,
                   .record = record_of(0),
                   .token = token_,
                   .containment = containment_,
                   .uid = experiment.uid,
                   .gid = experiment.gid,
                   .privileged = privileged,
                   .network = network,
                   .doors = group_ ? group_->doors() : std::vector<std::string>()});
}

// Topology::load() takes the allowed CPUs from our own affinity, which run_on() has reset before
// this call. It takes some milliseconds, so it is called again only if CPUs have come or gone.
void Workshop::look_at_cpus() {
  constexpr std::size_t most_text = 65536;
  std::string seen = read_file("/sys/devices/system/cpu/online", most_text).value_or("") +
                     machine::to_string(current_cpus());
  if (topology_ && seen == seen_cpus_) return;
  auto topology = machine::Topology::load();
  if (!topology) return;
  topology_ = *std::move(topology);
  seen_cpus_ = std::move(seen);
}

std::string Workshop::record_of(std::size_t place) const {
  return place == 0 ? options_.state_directory + "/worker.json"
                    : fmt::format("{}/worker-{}.json", options_.state_directory, place);
}

// Without namespaces, the end of one place's worker ends everything that has its token.
std::string Workshop::token_of(std::size_t place) const {
  return place == 0 ? token_ : fmt::format("{}-{}", token_, place);
}

std::string Workshop::job_of(std::size_t place) const {
  return cluster::job_name(token_, place);
}

WorkerStart Workshop::head_for(std::size_t place, cluster::StepStart step) const {
  step.program = options_.program;
  step.name = job_of(place);
  step.token = token_of(place);
  step.silence_ms = options_.node_silence.count();
  step.wait_ms = options_.node_wait.count();
  // Slurm's programs find their settings by this variable.
  const char* settings = std::getenv("SLURM_CONF");
  return {.program = options_.program,
          .arguments = {"--on-head", protocol::to_text(step, -1)},
          .environment = settings == nullptr ? std::vector<std::string>()
                                             : std::vector{fmt::format("SLURM_CONF={}", settings)},
          .beat = cluster::beat_of(options_.node_silence),
          .farewell = std::string(cluster::leaving),
          .record = record_of(place),
          .token = token_of(place),
          .containment = containment_};
}

Result<void> Workshop::start_on(std::size_t place, const plan::Plan& plan,
                                const plan::Machines& machines,
                                const std::vector<std::string>& others,
                                const store::Experiment& experiment, bool privileged) {
  cluster::StepStart step = cluster::step_on(machines);
  step.comment = cluster::job_comment(plan, std::to_string(experiment.id), experiment.name);
  step.others = others;
  step.privileged = privileged;
  step.network = plan.network;
  group_.reset();
  WorkerStart head = head_for(place, std::move(step));
  head.uid = experiment.uid;
  head.gid = experiment.gid;
  return start(place, head);
}

Result<Allocations::Attempt> Workshop::free_allocations(const Owner& owner) const {
  const WorkerStart head = head_for(0, {.only_frees = true});
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    return fail_errno("socketpair");
  Fd ours(ends[0]);
  const Fd theirs(ends[1]);
  machine::ContainedStart what;
  what.argv = {head.program};
  what.argv.insert(what.argv.end(), head.arguments.begin(), head.arguments.end());
  what.environment = protocol::worker_environment(head.containment, head.token);
  what.environment.insert(what.environment.end(), head.environment.begin(), head.environment.end());
  what.containment = head.containment;
  what.uid = owner.uid;
  what.gid = owner.gid;
  what.passed_fd = theirs.get();
  auto process = machine::start_contained(what);
  if (!process) return std::unexpected(process.error());
  return Allocations::Attempt{.process = *std::move(process), .daemon = std::move(ours)};
}

Result<void> Workshop::start(std::size_t place, const WorkerStart& what) {
  auto worker = WorkerProcess::start(clock_, loop_, place, what, *this);
  if (!worker) {
    group_.reset();
    return std::unexpected(worker.error());
  }
  workers_[place] = *worker;
  return {};
}

void Workshop::worker_said(const std::string& line, std::size_t place) {
  events_.worker_said(line, place);
}

void Workshop::worker_silent(const std::string& how, std::size_t place) {
  events_.worker_silent(how, place);
}

void Workshop::worker_ended(const std::string& how, std::size_t place) {
  workers_.erase(place);
  group_.reset();
  events_.worker_ended(how, place);
}

void Workshop::send(std::size_t place, const std::string& line, std::chrono::nanoseconds within) {
  if (const auto worker = workers_.find(place); worker != workers_.end())
    worker->second->send(line, within);
}

void Workshop::stop(std::size_t place) {
  if (const auto worker = workers_.find(place); worker != workers_.end()) worker->second->stop();
}

void Workshop::stop() {
  for (const auto& [place, worker] : workers_) worker->stop();
}

// The worker may need more memory to keep the output, so that is added. Prepare and cleanup
// commands have no memory limit, so with them the group has none either.
void Workshop::bound(const protocol::RunRequest& run) {
  if (!group_) return;
  constexpr std::uint64_t of_worker = std::uint64_t{16} << 20;
  const bool bounded = run.memory_limit != 0 && run.prepare.empty() && run.cleanup.empty();
  const auto done = group_->bound(bounded ? run.memory_limit + of_worker + 2 * run.output_limit : 0,
                                  run.process_limit);
  if (!done) spdlog::warn("{}", done.error().message);
}

std::string Workshop::passed() const {
  return group_ ? group_->reached() : std::string();
}

namespace {

constexpr const char* no_topology = "cannot read which CPUs the machine has";

}  // namespace

Result<std::vector<machine::Finding>> Workshop::examine(unsigned trial_cpus) const {
  if (!topology_) return fail(no_topology);
  return machine::examine(*topology_, options_.machine_root, trial_cpus);
}

Result<machine::Facts> Workshop::facts() const {
  if (!topology_) return fail(no_topology);
  return machine::read_facts(*topology_);
}

Result<machine::CpuChoice> Workshop::cpus_beside(const machine::CpuSet& trial) {
  if (!topology_) return fail(no_topology);
  if (auto cpus = topology_->take_cpus(trial)) return cpus;
  look_at_cpus();  // a CPU may have come online since the worker started
  return topology_->take_cpus(trial);
}

std::string Workshop::cache_of(const store::Experiment& experiment) const {
  return fmt::format("{}/{}", options_.cache_directory, experiment.uid);
}

std::size_t Workshop::count_caches(const std::function<bool(std::uint32_t uid)>& is) const {
  std::size_t count = 0;
  std::error_code error;
  for (auto it = std::filesystem::directory_iterator(options_.cache_directory, error);
       !error && it != std::filesystem::end(it); it.increment(error)) {
    const std::string name = it->path().filename();
    std::uint32_t uid = 0;
    const auto [end, wrong] = std::from_chars(name.data(), name.data() + name.size(), uid);
    if (wrong == std::errc() && end == name.data() + name.size() && is(uid)) ++count;
  }
  return std::max<std::size_t>(count, 1);
}

// A tenth of the cache's file system. The cache's folder may not exist yet, so its nearest existing
// parent is measured.
std::uint64_t Workshop::usual_cache_limit() const {
  constexpr std::uint64_t most = std::uint64_t{16} << 30;
  struct statvfs disk{};
  for (std::filesystem::path folder = options_.cache_directory; !folder.empty();
       folder = folder.parent_path()) {
    if (statvfs(folder.c_str(), &disk) == 0)
      return std::min(std::uint64_t{disk.f_blocks} * disk.f_frsize / 10, most);
    if (folder == folder.parent_path()) break;
  }
  return most;
}

}  // namespace stab::daemon
