// SPDX-License-Identifier: MIT
#include "stabd/daemon/children.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <spdlog/spdlog.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "base/time.h"
#include "machine/program.h"

namespace stab::daemon {
namespace {

LoopChild* owner(uv_poll_t* handle) {
  return static_cast<LoopChild*>(handle->data);
}

}  // namespace

Result<std::shared_ptr<LoopChild>> LoopChild::start(uv_loop_t* loop,
                                                    const machine::ContainedStart& what, bool idle,
                                                    const std::vector<unsigned>& cpus,
                                                    OnEnded ended) {
  auto process = machine::start_contained(what);
  if (!process) return std::unexpected(process.error());
  std::shared_ptr<LoopChild> child(new LoopChild);
  child->process_ = std::move(*process);
  child->ended_ = std::move(ended);
  child->self_ = child;
  if (idle) {
    const sched_param none{};
    sched_setscheduler(child->process_.pid, SCHED_IDLE, &none);
    setpriority(PRIO_PROCESS, static_cast<id_t>(child->process_.pid), 19);
  }
  child->move_to(cpus);
  if (const int failed = uv_poll_init(loop, &child->poll_, child->process_.pidfd.get());
      failed != 0) {
    child->kill_group();
    waitpid(child->process_.pid, nullptr, 0);
    child->self_.reset();
    return fail(fmt::format("cannot watch a process: {}", uv_strerror(failed)));
  }
  child->poll_.data = child.get();
  uv_poll_start(&child->poll_, UV_READABLE,
                [](uv_poll_t* handle, int, int) { owner(handle)->process_ended(); });
  return child;
}

void LoopChild::move_to(const std::vector<unsigned>& cpus) const {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (!cpus.empty()) sched_setaffinity(process_.pid, sizeof set, &set);
}

void LoopChild::hurry() const {
  const sched_param none{};
  sched_setscheduler(process_.pid, SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(process_.pid), 0);
}

void LoopChild::send_signal(int number) const {
  ::kill(process_.pid, number);
}

// The child may lead a session of its own, so its process group is killed, too. A pid namespace
// ends with the child anyway.
void LoopChild::kill_group() const {
  ::kill(process_.pid, SIGKILL);
  ::kill(-process_.pid, SIGKILL);
}

void LoopChild::abandon() {
  ended_ = nullptr;
  kill_group();
}

void LoopChild::end(std::chrono::steady_clock::time_point until) {
  abandon();
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  if (has_ended(std::max(left, std::chrono::milliseconds(0)))) machine::reap(process_.pid);
  close();
}

bool LoopChild::has_ended(std::chrono::milliseconds within) const {
  pollfd wait{process_.pidfd.get(), POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(within.count())) == 1;
}

void LoopChild::process_ended() {
  if (!has_ended(std::chrono::milliseconds(0))) return;
  // Until the child is reaped, the kernel gives its pid to no other process.
  kill_group();
  const auto status = machine::reap(process_.pid);
  const auto alive = self_;
  close();
  if (const auto ended = std::exchange(ended_, nullptr)) ended(status);
}

void LoopChild::close() {
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { owner(reinterpret_cast<uv_poll_t*>(handle))->self_.reset(); });
}

namespace {

// A file without a name disappears with its last descriptor, however we end.
Result<Fd> nameless_file(const std::string& folder) {
  Fd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string path = folder + "/answer-XXXXXX";
  file = Fd(mkostemp(path.data(), O_CLOEXEC));
  if (!file) return fail_errno("cannot make a file for the answer in " + folder);
  unlink(path.c_str());
  return file;
}

std::string why_it_ended(std::optional<int> status) {
  if (status && WIFSIGNALED(*status) && WTERMSIG(*status) == SIGXCPU)
    return "the reader process was stopped, because it used more CPU time than a file of this size "
           "should need";
  return fmt::format("the reader {}: {}", machine::how_it_ended(status),
                     status && WIFSIGNALED(*status) ? "try it again" : "see the log of stabd");
}

}  // namespace

Result<std::shared_ptr<ReaderProcess>> ReaderProcess::start(uv_loop_t* loop,
                                                            const ReaderStart& start,
                                                            OnEnded ended) {
  auto file = nameless_file(start.folder);
  if (!file) return std::unexpected(file.error());
  if (auto written = write_all(file->get(), start.line + "\n"); !written)
    return std::unexpected(written.error());
  // Without O_NONBLOCK, a reader that prints much would wait for us.
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) return fail_errno("cannot make a pipe");
  Fd printed(ends[0]);
  const Fd print(ends[1]);
  machine::ContainedStart what;
  what.argv = {start.program, "--reader"};
  what.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  what.uid = geteuid();
  what.gid = getegid();
  what.passed_fd = file->get();
  what.output_fd = print.get();
  what.privileged = true;  // it opens the files that the daemon opens
  what.own_session = false;

  std::shared_ptr<ReaderProcess> reader(new ReaderProcess);
  // The callback keeps the reader alive as long as its process.
  auto child =
      LoopChild::start(loop, what, start.idle, start.cpus,
                       [reader](std::optional<int> status) { reader->process_ended(status); });
  if (!child) return std::unexpected(child.error());
  reader->child_ = std::move(*child);
  reader->file_ = std::move(*file);
  reader->printed_ = std::move(printed);
  reader->ended_ = std::move(ended);
  return reader;
}

void ReaderProcess::move_to(const std::vector<unsigned>& cpus) const {
  child_->move_to(cpus);
}

void ReaderProcess::stop_running() const {
  child_->send_signal(SIGSTOP);
}

void ReaderProcess::hurry() const {
  child_->hurry();
}

void ReaderProcess::go_on() const {
  child_->send_signal(SIGCONT);
}

void ReaderProcess::kill(const std::string& why) {
  if (killed_for_.empty()) killed_for_ = why;
  child_->send_signal(SIGKILL);
}

void ReaderProcess::abandon() {
  child_->abandon();
}

void ReaderProcess::end() {
  child_->end();
}

// An archive may have taken the reader over, so our log gets its output without control characters
// and up to a limit.
void ReaderProcess::log_printed() const {
  constexpr std::size_t most_logged = std::size_t{8} << 10;
  constexpr std::size_t most_of_line = 500;
  constexpr int most_lines = 50;
  std::string text(most_logged, '\0');
  const ssize_t size = read(printed_.get(), text.data(), text.size());
  std::string_view rest(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  int lines = 0;
  while (!rest.empty() && lines < most_lines) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    if (end > 0) {
      spdlog::warn("a reader printed: {}", one_line(rest.substr(0, end), most_of_line));
      ++lines;
    }
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

void ReaderProcess::process_ended(std::optional<int> status) {
  log_printed();
  const auto ended = std::exchange(ended_, nullptr);
  if (!ended) return;
  if (!killed_for_.empty()) return ended(fail(killed_for_));
  if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    return ended(fail(why_it_ended(status)));
  ended(std::move(file_));
}

namespace {

Result<Fd> file_with(const std::string& text) {
  Fd file(memfd_create("notice", MFD_CLOEXEC));
  if (!file) return fail_errno("cannot make a file for the stdin of the notice's command");
  if (auto written = write_all(file.get(), text + "\n"); !written)
    return std::unexpected(written.error());
  if (lseek(file.get(), 0, SEEK_SET) != 0)
    return fail_errno("cannot rewind the stdin of the notice's command");
  return file;
}

// The shell looks the program up with the rights of the notice's user, not with ours.
std::vector<std::string> words_of(const Notice& notice) {
  std::vector<std::string> argv{"/bin/sh", "-c", R"(cd -- "$0" && exec "$@")", notice.directory};
  argv.insert(argv.end(), notice.command.begin(), notice.command.end());
  return argv;
}

}  // namespace

Notifier::Notifier(Clock& clock, uv_loop_t* loop, machine::Containment containment,
                   std::string program, std::chrono::nanoseconds limit, NotifierEvents& events)
    : loop_(loop),
      containment_(containment),
      program_(std::move(program)),
      limit_(limit),
      events_(events),
      timer_(clock.timer([this] { kill_late(); })) {}

void Notifier::end(std::chrono::steady_clock::time_point until) {
  if (child_) {
    timer_->stop();
    child_->end(until);
    child_.reset();
    events_.notice_failed(current_, notice_cut_short);
  }
  for (const Notice& notice : waiting_) events_.notice_failed(notice.experiment, notice_cut_short);
  waiting_.clear();
}

Notifier::~Notifier() {
  end(std::chrono::steady_clock::now() + LoopChild::killing);
}

void Notifier::send(Notice notice) {
  if (waiting_.size() >= max_notices)
    return events_.notice_failed(notice.experiment,
                                 "the notice is dropped: too many notices are waiting");
  waiting_.push_back(std::move(notice));
  run_next();
}

void Notifier::use_cpus(const std::vector<unsigned>& cpus) {
  cpus_ = cpus;
  if (child_) child_->move_to(cpus_);
}

void Notifier::run_next() {
  while (!child_ && !waiting_.empty()) {
    const Notice notice = std::move(waiting_.front());
    waiting_.pop_front();
    current_ = notice.experiment;
    if (auto started = start(notice); !started)
      events_.notice_failed(current_, "the notice is not sent: " + started.error().message);
  }
}

Result<void> Notifier::start(const Notice& notice) {
  const auto input = file_with(notice.json);
  if (!input) return std::unexpected(input.error());
  const Fd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (!nowhere) return fail_errno("cannot open /dev/null");
  const machine::ContainedStart what{
      .argv = words_of(notice),
      .environment = machine::make_environment(machine::base_variables(notice.uid), 0),
      .containment = containment_,
      .uid = notice.uid,
      .gid = notice.gid,
      .input_fd = input->get(),
      // Commands of users must not write into our log.
      .output_fd = notice.ours ? STDERR_FILENO : nowhere.get(),
      .privileged = notice.ours,
      .limits_by = notice.ours ? "" : program_};
  auto child = LoopChild::start(loop_, what, true, cpus_,
                                [this](std::optional<int> status) { ended(status); });
  if (!child) return std::unexpected(child.error());
  child_ = std::move(*child);
  late_ = false;
  timer_->start(std::chrono::ceil<std::chrono::milliseconds>(limit_));
  return {};
}

void Notifier::kill_late() {
  late_ = true;
  child_->send_signal(SIGKILL);
}

void Notifier::ended(std::optional<int> status) {
  timer_->stop();
  child_.reset();
  if (late_)
    events_.notice_failed(current_,
                          fmt::format("the notice's command took longer than {} and was killed",
                                      format_duration(limit_)));
  else if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    events_.notice_failed(current_, "the notice's command " + machine::how_it_ended(status));
  run_next();
  if (!busy()) events_.notifier_rests();
}

}  // namespace stab::daemon
