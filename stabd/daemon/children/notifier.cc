// SPDX-License-Identifier: MIT
#include "stabd/daemon/children/notifier.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <utility>

#include "base/duration.h"
#include "base/fd.h"
#include "machine/environment.h"

namespace stab::daemon {
namespace {

Result<Fd> file_with(const std::string& text) {
  Fd file(memfd_create("notice", MFD_CLOEXEC));
  if (!file) return fail_errno("cannot make a file for its stdin");
  if (auto written = write_all(file.get(), text + "\n"); !written)
    return std::unexpected(written.error());
  if (lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno("cannot rewind its stdin");
  return file;
}

// The shell looks the program up with the rights of the notice's user, not with ours.
std::vector<std::string> words_of(const Notice& notice) {
  std::vector<std::string> argv{"/bin/sh", "-c", R"(cd -- "$0" && exec "$@")", notice.directory};
  argv.insert(argv.end(), notice.command.begin(), notice.command.end());
  return argv;
}

}  // namespace

Notifier::Notifier(uv_loop_t* loop, machine::Containment containment, std::string program,
                   std::chrono::nanoseconds limit, OnFailed failed, std::function<void()> rested)
    : loop_(loop),
      containment_(containment),
      program_(std::move(program)),
      limit_(limit),
      failed_(std::move(failed)),
      rested_(std::move(rested)),
      timer_(new uv_timer_t) {
  uv_timer_init(loop_, timer_);
  timer_->data = this;
}

void Notifier::end(std::chrono::steady_clock::time_point until) {
  if (child_) {
    child_->end(until);
    child_.reset();
    failed_(current_, notice_cut_short);
  }
  for (const Notice& notice : waiting_) failed_(notice.experiment, notice_cut_short);
  waiting_.clear();
}

Notifier::~Notifier() {
  end(std::chrono::steady_clock::now() + LoopChild::killing);
  uv_close(reinterpret_cast<uv_handle_t*>(timer_),
           [](uv_handle_t* handle) { delete reinterpret_cast<uv_timer_t*>(handle); });
}

void Notifier::send(Notice notice) {
  if (waiting_.size() >= max_notices)
    return failed_(notice.experiment, "the notice is dropped: too many notices are waiting");
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
      failed_(current_, "the notice is not sent: " + started.error().message);
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
  const auto limit = std::chrono::ceil<std::chrono::milliseconds>(limit_).count();
  uv_timer_start(
      timer_,
      [](uv_timer_t* timer) {
        auto* self = static_cast<Notifier*>(timer->data);
        self->late_ = true;
        self->child_->send_signal(SIGKILL);
      },
      static_cast<std::uint64_t>(limit), 0);
  return {};
}

void Notifier::ended(std::optional<int> status) {
  uv_timer_stop(timer_);
  child_.reset();
  if (late_)
    failed_(current_, fmt::format("the notice's command took longer than {} and was killed",
                                  format_duration(limit_)));
  else if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    failed_(current_, "the notice's command " + machine::how_it_ended(status));
  run_next();
  if (!busy()) rested_();
}

}  // namespace stab::daemon
