// SPDX-License-Identifier: MIT
#include "stabd/daemon/reader_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace stab::daemon {
namespace {

// A file without a name: it is gone with its last descriptor, however we end.
Result<Fd> nameless_file(const std::string& folder) {
  Fd file(open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file) return file;
  std::string path = folder + "/answer-XXXXXX";
  file = Fd(mkostemp(path.data(), O_CLOEXEC));
  if (!file) return fail_errno("cannot make a file for the answer in " + folder);
  unlink(path.c_str());
  return file;
}

std::string how_it_ended(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("the reader was ended by signal {} ({}): try it again", WTERMSIG(status),
                       strsignal(WTERMSIG(status)));
  return fmt::format("the reader ended with exit code {}: see the log of stabd",
                     WEXITSTATUS(status));
}

ReaderProcess* owner(uv_poll_t* handle) {
  return static_cast<ReaderProcess*>(handle->data);
}

}  // namespace

Result<std::shared_ptr<ReaderProcess>> ReaderProcess::start(uv_loop_t* loop,
                                                            const ReaderStart& start,
                                                            OnEnded ended) {
  auto file = nameless_file(start.folder);
  if (!file) return std::unexpected(file.error());
  if (auto written = write_all(file->get(), start.line + "\n"); !written)
    return std::unexpected(written.error());
  machine::ContainedStart what;
  what.argv = {start.program, "--reader"};
  what.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  what.uid = geteuid();
  what.gid = getegid();
  what.passed_fd = file->get();
  what.privileged = true;  // it opens what the daemon opened
  auto process = machine::start_contained(what);
  if (!process) return std::unexpected(process.error());

  std::shared_ptr<ReaderProcess> reader(new ReaderProcess);
  reader->process_ = std::move(*process);
  reader->file_ = std::move(*file);
  reader->ended_ = std::move(ended);
  reader->self_ = reader;
  // It does so by itself, too; until then it has run for some microseconds.
  if (start.idle) {
    const sched_param none{};
    sched_setscheduler(reader->process_.pid, SCHED_IDLE, &none);
    setpriority(PRIO_PROCESS, static_cast<id_t>(reader->process_.pid), 19);
  }
  reader->move_to(start.cpus);
  uv_poll_init(loop, &reader->poll_, reader->process_.pidfd.get());
  reader->poll_.data = reader.get();
  uv_poll_start(&reader->poll_, UV_READABLE,
                [](uv_poll_t* handle, int, int) { owner(handle)->process_ended(); });
  return reader;
}

void ReaderProcess::move_to(const std::vector<unsigned>& cpus) const {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (!cpus.empty()) sched_setaffinity(process_.pid, sizeof set, &set);
}

void ReaderProcess::stop_running() const {
  ::kill(process_.pid, SIGSTOP);
}

void ReaderProcess::go_on() const {
  ::kill(process_.pid, SIGCONT);
}

void ReaderProcess::kill(const std::string& why) {
  if (killed_for_.empty()) killed_for_ = why;
  ::kill(process_.pid, SIGKILL);
}

void ReaderProcess::abandon() {
  ended_ = nullptr;
  ::kill(process_.pid, SIGKILL);
}

void ReaderProcess::end() {
  abandon();
  waitpid(process_.pid, nullptr, 0);
  close();
}

void ReaderProcess::process_ended() {
  int status = 0;
  if (waitpid(process_.pid, &status, WNOHANG) != process_.pid) return;
  const auto alive = self_;
  close();
  const auto ended = std::exchange(ended_, nullptr);
  if (!ended) return;
  if (!killed_for_.empty()) return ended(fail(killed_for_));
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return ended(fail(how_it_ended(status)));
  ended(std::move(file_));
}

void ReaderProcess::close() {
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { owner(reinterpret_cast<uv_poll_t*>(handle))->self_.reset(); });
}

}  // namespace stab::daemon
