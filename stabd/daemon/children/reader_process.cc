// SPDX-License-Identifier: MIT
#include "stabd/daemon/children/reader_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

namespace stab::daemon {
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
    return "reading it took more time than a file of its size should take";
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
  machine::ContainedStart what;
  what.argv = {start.program, "--reader"};
  what.environment = {"PATH=/usr/bin:/bin", "LANG=C.UTF-8"};
  what.uid = geteuid();
  what.gid = getegid();
  what.passed_fd = file->get();
  what.output_fd = STDERR_FILENO;
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

void ReaderProcess::process_ended(std::optional<int> status) {
  const auto ended = std::exchange(ended_, nullptr);
  if (!ended) return;
  if (!killed_for_.empty()) return ended(fail(killed_for_));
  if (!status || !WIFEXITED(*status) || WEXITSTATUS(*status) != 0)
    return ended(fail(why_it_ended(status)));
  ended(std::move(file_));
}

}  // namespace stab::daemon
