// SPDX-License-Identifier: MIT
#include "cluster/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

#include "base/text.h"

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

}  // namespace stab::cluster
