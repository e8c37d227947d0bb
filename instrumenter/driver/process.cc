// SPDX-License-Identifier: MIT
#include "instrumenter/driver/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <vector>

namespace stab::driver {
namespace {

constexpr int kCannotStart = 127;

std::vector<char*> to_argv(const Words& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  // execv promises not to change what it is given.
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

}  // namespace

Error become(const Words& words) {
  const std::vector<char*> argv = to_argv(words);
  execv(argv[0], argv.data());
  return fail_errno(fmt::format("cannot start {}", words[0])).error();
}

Result<Ending> run_and_wait(const Words& words, Errors errors) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) _exit(kCannotStart);
    const int nobody = errors == Errors::dropped ? open("/dev/null", O_WRONLY) : -1;
    if (nobody >= 0) dup2(nobody, STDERR_FILENO);
    const Error error = become(words);
    fmt::print(stderr, "szc: {}\n", error.message);
    _exit(kCannotStart);
  }
  Ending ending;
  while (waitpid(child, &ending.status, 0) < 0) {
    if (errno != EINTR) return fail_errno("waitpid");
  }
  return ending;
}

void end_like(const Ending& ending) {
  if (WIFSIGNALED(ending.status)) {
    const rlimit no_core{0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    std::signal(WTERMSIG(ending.status), SIG_DFL);
    std::raise(WTERMSIG(ending.status));
  }
  std::exit(WIFEXITED(ending.status) ? WEXITSTATUS(ending.status) : 1);
}

}  // namespace stab::driver
