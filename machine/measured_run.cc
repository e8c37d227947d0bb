// SPDX-License-Identifier: MIT

#include "machine/measured_run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/time.h"
#include "machine/processes.h"
#include "machine/program.h"
#include "machine/starter.h"
#include "machine/trial_group.h"
#include "machine/user_limits.h"

namespace stab::machine {
namespace {

// The CPU time of a process and of children that it waited for, in ticks.
std::uint64_t cpu_ticks(pid_t pid) {
  const auto text = read_file(fmt::format("/proc/{}/stat", pid), 65536);
  if (!text) return 0;
  const auto after = text->rfind(')');
  unsigned long long user = 0;
  unsigned long long system = 0;
  long long children_user = 0;
  long long children_system = 0;
  const int read = after == std::string::npos
                       ? 0
                       : std::sscanf(text->c_str() + after + 1,
                                     " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld"
                                     " %lld",
                                     &user, &system, &children_user, &children_system);
  return read == 4 ? user + system + static_cast<std::uint64_t>(children_user + children_system)
                   : 0;
}

struct Pages {
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;  // the part shared with files or other processes
};

Pages pages_in(const std::string& statm) {
  const auto text = read_file(statm, 4096);
  unsigned long long resident = 0;
  unsigned long long shared = 0;
  if (!text || std::sscanf(text->c_str(), "%*u %llu %llu", &resident, &shared) != 2) return {};
  return {.resident = resident, .shared = std::min(shared, resident)};
}

// If the first thread has ended, it shows no pages. The other threads share the same memory.
Pages pages_of(pid_t pid) {
  const Pages first = pages_in(fmt::format("/proc/{}/statm", pid));
  if (first.resident != 0) return first;
  std::error_code gone;
  std::filesystem::directory_iterator thread(fmt::format("/proc/{}/task", pid), gone);
  for (; !gone && thread != std::filesystem::directory_iterator(); thread.increment(gone))
    if (const Pages pages = pages_in(thread->path() / "statm"); pages.resident != 0) return pages;
  return {};
}

}  // namespace

std::uint64_t shared_since(std::uint64_t before) {
  const std::uint64_t now = shared_memory_of_group();
  return now > before ? now - before : 0;
}

Use use_of_descendants(pid_t but, std::uint64_t before) {
  Use use;
  std::uint64_t ticks = 0;
  std::uint64_t own = 0;
  std::uint64_t shared = 0;
  for (const pid_t pid : descendants()) {
    if (pid == but) continue;
    const Pages pages = pages_of(pid);
    own += pages.resident - pages.shared;
    shared = std::max(shared, pages.shared);
    ++use.processes;
  }
  for (const pid_t pid : descendants(Which::all))
    if (pid != but) ticks += cpu_ticks(pid);
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  use.memory = own * page + std::max(shared * page, shared_since(before));
  const auto per_second = static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  use.cpu = std::chrono::nanoseconds(ticks * (1'000'000'000 / per_second));
  return use;
}

std::string passed_limit(const Limits& limits, const Use& use) {
  if (limits.memory != 0 && use.memory > limits.memory)
    return fmt::format("used more memory than its limit of {} bytes", limits.memory);
  if (limits.cpu.count() != 0 && use.cpu > limits.cpu)
    return fmt::format("used more CPU time than its limit of {}", format_duration(limits.cpu));
  if (limits.processes != 0 && use.processes > limits.processes)
    return fmt::format("had more processes than its limit of {}", limits.processes);
  return "";
}

// Collects the text of one stream.
struct Stream {
  Fd fd;
  std::string text;

  // Reads what is available; returns false if there is more than `limit` in total. Closes the
  // descriptor at the end of the stream.
  bool drain(std::uint64_t limit);
  // Reads some of what is available and forgets it.
  void throw_away();
};

// Watches a running program until it ends by itself, is stopped, or exceeds its timeout or one of
// its limits.
class Supervisor {
 public:
  // `starter` may still be ending while the program runs; it does not count as part of the program.
  // `shared_before` is the parameter `before` of use_of_descendants().
  Supervisor(const Launch& launch, int pidfd, pid_t starter, std::uint64_t shared_before,
             Stream& out, Stream& err, Stream* beside)
      : launch_(launch),
        pidfd_(pidfd),
        starter_(starter),
        shared_before_(shared_before),
        out_(out),
        err_(err),
        beside_(beside) {}

  // Waits until the program has ended or must be ended. `End::exited` means that it ended by
  // itself. `started` and `ended` are times of the monotonic clock.
  End wait(std::chrono::nanoseconds started, std::chrono::nanoseconds& ended);

  // The limit that the program exceeded, in words.
  [[nodiscard]] const std::string& passed() const { return passed_; }

 private:
  const Launch& launch_;
  int pidfd_;
  pid_t starter_;
  std::uint64_t shared_before_;
  Stream& out_;
  Stream& err_;
  Stream* beside_;  // output that is thrown away; may be null
  std::string passed_;
};

namespace {

using std::chrono::nanoseconds;

nanoseconds now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

int wait_for(const Launch& launch, std::array<pollfd, 6>& fds, nanoseconds deadline,
             nanoseconds next_look) {
  const bool looks = launch.limits.needs_looks();
  if (launch.timeout.count() == 0 && !looks) return poll(fds.data(), fds.size(), -1);
  const nanoseconds end = launch.timeout.count() == 0 ? next_look
                          : looks                     ? std::min(deadline, next_look)
                                                      : deadline;
  const nanoseconds left = std::max(end - now(), nanoseconds(0));
  const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
  return ppoll(fds.data(), fds.size(), &time, nullptr);
}

constexpr std::size_t small_output = std::size_t{1} << 20;

// Reserves the largest size at once. The kernel only provides the pages that are used, while
// growing step by step would need the memory twice or more during each copy.
void take_room(std::string& text, std::uint64_t limit) {
  const std::size_t most = static_cast<std::size_t>(limit) + (std::size_t{64} << 10);
  if (text.capacity() >= most) return;
  try {
    text.reserve(most);
  } catch (const std::bad_alloc&) {
    // The machine does not overcommit memory, so the text grows step by step, as far as it can.
  }
}

}  // namespace

bool Stream::drain(std::uint64_t limit) {
  std::array<char, 65536> buffer;
  while (fd) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return true;
    if (n <= 0) {
      fd.reset();
      return true;
    }
    if (text.size() > small_output) take_room(text, limit);
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > limit) {
      text.resize(limit);
      return false;
    }
  }
  return true;
}

void Stream::throw_away() {
  constexpr int most = 16;  // a program that writes without end must not keep us here
  std::array<char, 65536> buffer;
  for (int i = 0; i < most && fd; ++i) {
    const ssize_t n = read(fd.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) fd.reset();
  }
}

End Supervisor::wait(nanoseconds started, nanoseconds& ended) {
  const nanoseconds deadline = started + launch_.timeout;
  nanoseconds next_look = started + look_interval;
  for (;;) {
    std::array<pollfd, 6> fds{{{pidfd_, POLLIN, 0},
                               {launch_.stop_fd, POLLIN, 0},
                               {out_.fd.get(), POLLIN, 0},
                               {err_.fd.get(), POLLIN, 0},
                               {launch_.watched ? launch_.watched_fd() : -1, POLLIN, 0},
                               {beside_ != nullptr ? beside_->fd.get() : -1, POLLIN, 0}}};
    const int ready = wait_for(launch_, fds, deadline, next_look);
    ended = now();
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents != 0) return End::exited;
    if (fds[1].revents != 0) return End::stopped;
    if (fds[4].revents != 0) launch_.watched();
    if (fds[5].revents != 0) beside_->throw_away();
    if (launch_.timeout.count() > 0 && ended >= deadline) return End::timeout;
    if (launch_.limits.needs_looks() && ended >= next_look) {
      next_look = ended + look_interval;
      passed_ = passed_limit(launch_.limits, use_of_descendants(starter_, shared_before_));
      if (!passed_.empty()) return End::over_limit;
    }
    if (!out_.drain(launch_.output_limit) || !err_.drain(launch_.output_limit))
      return End::output_limit;
  }
}

namespace {

// Ordinary output fits, so that the program never waits for us.
constexpr int pipe_bytes = 1 << 20;
constexpr std::chrono::milliseconds kill_deadline{10'000};

nanoseconds now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

struct Pipe {
  Fd read;
  Fd write;
};

std::optional<Pipe> make_pipe() {
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return std::nullopt;
  fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return Pipe{Fd(ends[0]), Fd(ends[1])};
}

std::vector<char*> pointers_to(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The largest size of a file that the program may write; 0 if unlimited. It is the lower one of the
// plan's and the user's limits (user_limits.h).
std::uint64_t file_limit(const Limits& limits) {
  rlimit user{};
  getrlimit(RLIMIT_FSIZE, &user);
  for (const ResourceLimit& each : limits_of_programs())
    if (each.resource == RLIMIT_FSIZE) user = {.rlim_cur = each.soft, .rlim_max = each.hard};
  if (user.rlim_cur == RLIM_INFINITY) return limits.file;
  return limits.file == 0 ? user.rlim_cur : std::min<std::uint64_t>(user.rlim_cur, limits.file);
}

bool set_limits(const Limits& limits) {
  const bool cores = std::ranges::find(limits_of_programs(), RLIMIT_CORE,
                                       &ResourceLimit::resource) != limits_of_programs().end();
  take_standard_limits();
  const rlimit none{0, 0};
  if (!cores) setrlimit(RLIMIT_CORE, &none);
  if (!take(limits_of_programs())) return false;
  const std::uint64_t bytes = file_limit(limits);
  const rlimit file{bytes, bytes};
  return limits.file == 0 || setrlimit(RLIMIT_FSIZE, &file) == 0;
}

// Gives this process all properties of a trial's process, apart from its descriptors and its
// session. Returns what failed, or nullptr.
const char* become_trial(const Launch& launch) {
  reset_signals();
  if (!set_limits(launch.limits)) return "set the user's limits";
  if (chdir(launch.directory.c_str()) != 0) return "enter its directory";
  // Set in both cases, because we may have been started without randomization.
  const unsigned long fixed_layout = ADDR_NO_RANDOMIZE;
  if (personality(launch.keep_aslr ? 0 : fixed_layout) == -1)
    return "set address space randomization";
  if (launch.bind && !launch.bind()) return "bind it to its CPUs";
  return nullptr;
}

nanoseconds to_duration(const timeval& time) {
  return std::chrono::seconds(time.tv_sec) + std::chrono::microseconds(time.tv_usec);
}

// How much the starter's peak memory may grow after it asked for its usage: it touches some more
// pages, and the kernel counts pages in batches of 32, or of two for each CPU.
long own_growth_kb() {
  static const long kb = std::max(256L, 8 * sysconf(_SC_NPROCESSORS_CONF));
  return kb;
}

// The kernel counts from the start of the process, so the starter's usage until exec is subtracted.
// That is impossible for peak memory: the program's peak is only known if it is clearly higher than
// the starter's.
void account(const rusage& usage, const rusage& before, Ended& ended) {
  ended.user = to_duration(usage.ru_utime) - to_duration(before.ru_utime);
  ended.system = to_duration(usage.ru_stime) - to_duration(before.ru_stime);
  if (usage.ru_maxrss > before.ru_maxrss + own_growth_kb())
    ended.max_rss_bytes = std::int64_t{usage.ru_maxrss} * 1024;
  const auto counted = [&](const char* name, long value) {
    ended.readings.push_back(counters::counted(name, "", value));
  };
  counted("page-faults-minor", usage.ru_minflt - before.ru_minflt);
  counted("page-faults-major", usage.ru_majflt - before.ru_majflt);
  counted("context-switches-voluntary", usage.ru_nvcsw - before.ru_nvcsw);
  counted("context-switches-involuntary", usage.ru_nivcsw - before.ru_nivcsw);
}

// The migrations of the first thread since exec. Earlier ones don't count, because binding to the
// CPUs is one of them.
counters::Reading migrations_since(const Note& note, pid_t child) {
  const auto before = migrations_in({note.sched.data(), note.sched_size});
  siginfo_t ended{};
  while (waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT) != 0 &&
         errno == EINTR) {
  }
  const auto all = migrations_of(child);
  if (!before || !all || *all < *before)
    return counters::absent("cpu-migrations", "", "this kernel does not show /proc/PID/sched");
  return counters::counted("cpu-migrations", "", *all - *before);
}

void explain(const Launch& launch, int status, const Note& note, Ended& ended) {
  switch (ended.how) {
    case End::timeout:
      ended.reason =
          fmt::format("did not end within its timeout of {}", format_duration(launch.timeout));
      return;
    case End::output_limit:
      ended.reason =
          fmt::format("printed more than its output limit of {} bytes", launch.output_limit);
      return;
    case End::over_limit:
      return;  // the supervisor has given the reason
    case End::stopped:
      ended.reason = "was stopped";
      return;
    default:
      break;
  }
  if (note.error != 0) {
    ended.how = End::not_started;
    ended.reason = fmt::format("cannot {}: {}: {}", note.failed.data(), launch.argv[0],
                               std::strerror(note.error));
  } else if (note.exec_ns == 0) {
    ended.how = End::not_started;
    ended.reason = fmt::format("{} did not start, because the helper process {}", launch.argv[0],
                               how_it_ended(status));
  } else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGXFSZ && file_limit(launch.limits) != 0) {
    ended.how = End::over_limit;
    ended.reason =
        fmt::format("wrote more than its limit of {} bytes to a file", file_limit(launch.limits));
  } else if (WIFSIGNALED(status)) {
    ended.how = End::signalled;
    ended.signal = WTERMSIG(status);
    ended.reason =
        fmt::format("was killed by signal {} ({})", ended.signal, strsignal(ended.signal));
  } else {
    ended.exit_code = WEXITSTATUS(status);
  }
}

// Refuses a FIFO, which would make us wait for a writer, and sockets and folders, which can't be
// read.
Result<Fd> open_input(const std::string& path) {
  Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno("cannot open the stdin file " + path);
  struct stat status{};
  if (fstat(fd.get(), &status) != 0 || (!S_ISREG(status.st_mode) && !S_ISCHR(status.st_mode)))
    return fail(fmt::format(
        "cannot read stdin from {}, which is neither a regular file nor a character device", path));
  fcntl(fd.get(), F_SETFL, 0);
  return fd;
}

Ended not_started(std::string reason) {
  Ended ended;
  ended.started_ns = now(CLOCK_REALTIME).count();
  ended.reason = std::move(reason);
  return ended;
}

// Usually the starter has ended by itself, but the program may have stopped it.
void end_starter(pid_t starter) {
  kill(starter, SIGKILL);
  while (waitpid(starter, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// The command beside a program. If it is not waited for, it is ended.
class Companion {
 public:
  Companion() = default;
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
  ~Companion() { end(); }

  // Starts the command, which then waits for go(). Returns why that failed, or "".
  std::string start(const Launch& launch);
  void go() const { eventfd_write(gate_.get(), 1); }
  Stream& output() { return output_; }
  // Waits until it has ended by itself. Ends it at the deadline, or if we have to stop.
  BesideEnded wait(const Launch& launch, nanoseconds deadline);
  void end();

 private:
  End wait_until(const Launch& launch, nanoseconds deadline);

  Fd gate_;
  Fd pidfd_;
  Stream output_;
  Started started_{};
};

std::string Companion::start(const Launch& launch) {
  const auto said = [&](const std::string& why) {
    return fmt::format("the 'beside' command {}: {}", launch.beside.front(), why);
  };
  const auto program =
      find_program(launch.beside.front(), launch.beside_environment, launch.directory);
  if (!program) return said(program.error().message);
  if (const std::string gain = refused_rights(*program); !gain.empty())
    return said(fmt::format("{}, but trials must not gain privileges", "this command " + gain));
  const auto in = open_input(launch.stdin_path.empty() ? "/dev/null" : launch.stdin_path);
  if (!in) return said(in.error().message);
  auto out = make_pipe();
  gate_ = Fd(eventfd(0, EFD_CLOEXEC));
  if (!out || !gate_) return said(fail_errno("no pipe").error().message);
  // Its layout is the same in all trials.
  Launch own = launch;
  own.keep_aslr = false;
  const auto started = machine::start({.program = *program,
                                       .argv = launch.beside,
                                       .environment = launch.beside_environment,
                                       .streams = {in->get(), out->write.get(), out->write.get()},
                                       .gate = gate_.get(),
                                       .which = Start::Which::second,
                                       .become = [&] { return become_trial(own); }});
  if (!started) return said(started.error().message);
  started_ = *started;
  output_.fd = std::move(out->read);
  if (started_.program == 0) {
    end();
    const Note& note = *started->note;
    return said(note.error != 0
                    ? fmt::format("cannot {}: {}", note.failed.data(), std::strerror(note.error))
                    : "the helper process that starts commands has ended");
  }
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, started_.program, 0)));
  return pidfd_ ? "" : said(fail_errno("cannot watch it").error().message);
}

End Companion::wait_until(const Launch& launch, nanoseconds deadline) {
  for (;;) {
    std::array<pollfd, 3> fds{
        {{pidfd_.get(), POLLIN, 0}, {launch.stop_fd, POLLIN, 0}, {output_.fd.get(), POLLIN, 0}}};
    const nanoseconds left = std::max(deadline - now(CLOCK_MONOTONIC), nanoseconds(0));
    const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    const bool has_deadline = launch.timeout.count() != 0;
    const int ready = ppoll(fds.data(), fds.size(), has_deadline ? &time : nullptr, nullptr);
    if (ready < 0 && errno == EINTR) continue;
    if (fds[0].revents != 0) return End::exited;
    if (fds[1].revents != 0) return End::stopped;
    if (ready <= 0 || (has_deadline && now(CLOCK_MONOTONIC) >= deadline)) return End::timeout;
    output_.throw_away();
  }
}

BesideEnded Companion::wait(const Launch& launch, nanoseconds deadline) {
  BesideEnded ended;
  const End how = wait_until(launch, deadline);
  if (how != End::exited) {
    end();
    ended.stopped = how == End::stopped;
    ended.fault = ended.stopped ? "was stopped" : "did not end within the trial's timeout";
    return ended;
  }
  int status = 0;
  rusage usage{};
  while (wait4(started_.program, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  end_starter(started_.starter);
  const Note note = *std::exchange(started_, Started{}).note;
  ended.cpu = to_duration(usage.ru_utime) + to_duration(usage.ru_stime) -
              to_duration(note.before.ru_utime) - to_duration(note.before.ru_stime);
  if (note.error != 0)
    ended.fault = fmt::format("cannot {}: {}", note.failed.data(), std::strerror(note.error));
  else if (!WIFEXITED(status))
    ended.fault = how_it_ended(status);
  else
    ended.exit_code = WEXITSTATUS(status);
  return ended;
}

void Companion::end() {
  const Started started = std::exchange(started_, Started{});
  if (started.program != 0) end_starter(started.program);
  if (started.starter != 0) end_starter(started.starter);
}

void finish(const Launch& launch, const Started& started, pid_t child, nanoseconds began,
            nanoseconds end, Stream& out, Stream& err, Ended& ended) {
  const Note& note = *started.note;
  if (ended.how != End::exited) kill(child, SIGKILL);
  const counters::Reading migrations = migrations_since(note, child);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (started.starter != child) end_starter(started.starter);
  account(usage, note.before, ended);
  ended.readings.push_back(migrations);
  explain(launch, status, note, ended);
  if (note.exec_ns != 0) {
    ended.wall = end - nanoseconds(note.exec_ns);
    ended.readings.push_back(counters::counted("spawn-ns", "ns", note.exec_ns - began.count()));
  }
  const auto leftovers = end_descendants(launch.containment, kill_deadline);
  ended.leftovers = leftovers.value_or(1);
  if (!leftovers) {
    ended.stuck = true;
    ended.reason = leftovers.error().message;
  }
  const bool within = out.drain(launch.output_limit) && err.drain(launch.output_limit);
  if (!within && ended.how == End::exited) {
    ended.how = End::output_limit;
    explain(launch, status, note, ended);
  }
  ended.out = std::move(out.text);
  ended.err = std::move(err.text);
}

}  // namespace

Error replace_this_process(const Launch& launch) {
  const auto program = find_program(launch.argv.front(), launch.environment, launch.directory);
  if (!program) return program.error();
  if (!launch.stdin_path.empty()) {
    const auto in = open_input(launch.stdin_path);
    if (!in) return in.error();
    if (dup2(in->get(), 0) < 0) return fail_errno("cannot redirect its stdin").error();
  }
  const std::vector<char*> argv = pointers_to(launch.argv);
  const std::vector<char*> environment = pointers_to(launch.environment);
  be_the_first_to_go();
  const char* failed = become_trial(launch);
  if (failed == nullptr) {
    execve(program->c_str(), argv.data(), environment.data());
    failed = "execute";
  }
  return fail_errno(fmt::format("cannot {}: {}", failed, launch.argv.front())).error();
}

Ended run(const Launch& launch) {
  const auto program = find_program(launch.argv.front(), launch.environment, launch.directory);
  if (!program) return not_started(program.error().message);
  if (const std::string gain = refused_rights(*program); !gain.empty())
    return not_started(
        fmt::format("{}, but trials must not gain privileges; only a plan that root submits may "
                    "allow this, with 'privileges = true' in [experiment]",
                    launch.argv.front() + " " + gain));
  const std::string input = launch.stdin_path.empty() ? "/dev/null" : launch.stdin_path;
  const auto in = open_input(input);
  if (!in) return not_started(in.error().message);
  auto out = make_pipe();
  auto err = make_pipe();
  const bool is_held = launch.held || !launch.beside.empty();
  const Fd gate(is_held ? eventfd(0, EFD_CLOEXEC) : -1);
  if (!out || !err || (is_held && !gate)) return not_started(fail_errno("no pipe").error().message);
  std::optional<Companion> companion;
  if (!launch.beside.empty())
    if (std::string fault = companion.emplace().start(launch); !fault.empty())
      return not_started(std::move(fault));

  const bool has_memory_limit = launch.limits.memory != 0;
  const std::uint64_t shared_before = has_memory_limit ? shared_memory_of_group() : 0;
  Ended ended;
  ended.readable = access(program->c_str(), R_OK) == 0;
  ended.started_ns = now(CLOCK_REALTIME).count();
  const nanoseconds began = now(CLOCK_MONOTONIC);
  const auto started =
      start({.program = *program,
             .argv = launch.argv,
             .environment = launch.environment,
             .streams = {in->get(), out->write.get(),
                         launch.merge_stderr ? out->write.get() : err->write.get()},
             .gate = gate.get(),
             .become = [&] { return become_trial(launch); }});
  if (!started) return not_started(started.error().message);
  // If there is no process for the program, the starter's end is reported like that of a program
  // that could not be executed.
  const pid_t child = started->program != 0 ? started->program : started->starter;
  ended.pid = child;
  const Fd pidfd(static_cast<int>(syscall(SYS_pidfd_open, child, 0)));
  if (!pidfd) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    if (child != started->starter) end_starter(started->starter);
    return not_started(fail_errno("cannot watch the program").error().message);
  }
  out->write.reset();
  err->write.reset();
  if (is_held && started->program != 0) {
    if (launch.held) launch.held(child);
    if (companion) companion->go();
    eventfd_write(gate.get(), 1);
  }
  Stream out_stream{std::move(out->read), ""};
  Stream err_stream{std::move(err->read), ""};

  nanoseconds end{0};
  Supervisor supervisor(launch, pidfd.get(), started->program != 0 ? started->starter : 0,
                        shared_before, out_stream, err_stream,
                        companion ? &companion->output() : nullptr);
  // The program has its time from the exec on, or from now if that is still to come: a busy machine
  // may take seconds to get that far.
  const nanoseconds runs_since =
      started->note->exec_ns != 0 ? nanoseconds(started->note->exec_ns) : now(CLOCK_MONOTONIC);
  ended.how = supervisor.wait(runs_since, end);
  ended.reason = supervisor.passed();
  // Without a process for the program, the command still waits for its start.
  if (companion && started->program != 0 && ended.how == End::exited) {
    ended.beside = companion->wait(launch, runs_since + launch.timeout);
    if (ended.beside->stopped) ended.how = End::stopped;
  }
  companion.reset();
  finish(launch, *started, child, began, end, out_stream, err_stream, ended);
  // Checks the memory limit once more, for files in memory that were written after the last look.
  if (has_memory_limit && ended.how == End::exited) {
    ended.reason =
        passed_limit({.memory = launch.limits.memory}, {.memory = shared_since(shared_before)});
    if (!ended.reason.empty()) ended.how = End::over_limit;
  }
  return ended;
}

}  // namespace stab::machine
