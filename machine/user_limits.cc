// SPDX-License-Identifier: MIT
#include "machine/user_limits.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/sched.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <utility>

#include "base/fd.h"
#include "base/text.h"
#include "machine/measured_run.h"

namespace stab::machine {
namespace {

constexpr const char* service = "stabd";
constexpr const char* variable = "STABD_USER_LIMITS";
constexpr std::size_t most_line = 4096;

// The names in limits.conf(5), or the kernel's names for limits that it lacks.
constexpr std::array<std::pair<int, std::string_view>, 16> resource_names{{
    {RLIMIT_CPU, "cpu"},
    {RLIMIT_FSIZE, "fsize"},
    {RLIMIT_DATA, "data"},
    {RLIMIT_STACK, "stack"},
    {RLIMIT_CORE, "core"},
    {RLIMIT_RSS, "rss"},
    {RLIMIT_NPROC, "nproc"},
    {RLIMIT_NOFILE, "nofile"},
    {RLIMIT_MEMLOCK, "memlock"},
    {RLIMIT_AS, "as"},
    {RLIMIT_LOCKS, "locks"},
    {RLIMIT_SIGPENDING, "sigpending"},
    {RLIMIT_MSGQUEUE, "msgqueue"},
    {RLIMIT_NICE, "nice"},
    {RLIMIT_RTPRIO, "rtprio"},
    {RLIMIT_RTTIME, "rttime"},
}};
static_assert(resource_names.size() == RLIM_NLIMITS);

rlimit limit_now(int resource) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
  return limit;
}

bool put_limit(int resource, const rlimit& limit) {
  return setrlimit(static_cast<__rlimit_resource_t>(resource), &limit) == 0;
}

// The binary interface of libpam, so that stabd needs neither its headers nor, on machines without
// it, the library.
struct Conversation {
  int (*answer)(int, const void**, void**, void*);
  void* data;
};
constexpr int pam_success = 0;
constexpr int pam_conv_err = 19;
constexpr int pam_silent = 0x8000;

struct Pam {
  int (*start)(const char* service, const char* user, const Conversation*, void** handle);
  int (*open_session)(void* handle, int flags);
  int (*close_session)(void* handle, int flags);
  int (*end)(void* handle, int status);
  const char* (*error)(void* handle, int status);
};

template <class Function>
bool find(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

std::optional<Pam> load_pam() {
  void* const library = dlopen("libpam.so.0", RTLD_NOW | RTLD_LOCAL);
  Pam pam{};
  if (library == nullptr || !find(library, "pam_start", pam.start) ||
      !find(library, "pam_open_session", pam.open_session) ||
      !find(library, "pam_close_session", pam.close_session) ||
      !find(library, "pam_end", pam.end) || !find(library, "pam_strerror", pam.error))
    return std::nullopt;
  return pam;
}

// PAM would use the service "other" for a service without its own file, and that one is for logins.
bool has_service() {
  return std::ranges::any_of(std::array{"/etc/pam.d/", "/usr/lib/pam.d/"}, [](const char* folder) {
    return access((std::string(folder) + service).c_str(), R_OK) == 0;
  });
}

rlim_t limit_in(std::string_view text, bool& good) {
  if (text == "unlimited") return RLIM_INFINITY;
  rlim_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  good = good && error == std::errc() && end == text.data() + text.size();
  return value;
}

// Parses "nofile=1024:4096".
std::optional<ResourceLimit> one_limit_in(std::string_view word) {
  const auto equals = word.find('=');
  const auto colon = word.find(':');
  if (equals == std::string_view::npos || colon == std::string_view::npos || colon < equals)
    return std::nullopt;
  const auto* const named = std::ranges::find(resource_names, word.substr(0, equals),
                                              &std::pair<int, std::string_view>::second);
  if (named == resource_names.end()) return std::nullopt;
  bool good = true;
  const ResourceLimit limit{.resource = named->first,
                            .soft = limit_in(word.substr(equals + 1, colon - equals - 1), good),
                            .hard = limit_in(word.substr(colon + 1), good)};
  return good ? std::optional(limit) : std::nullopt;
}

std::vector<ResourceLimit>& programs_limits() {
  static std::vector<ResourceLimit> limits;
  return limits;
}

}  // namespace

UserLimits ask_pam(uid_t uid) {
  if (!has_service())
    return {.lacking = "there is neither /etc/pam.d/stabd nor /usr/lib/pam.d/stabd"};
  errno = 0;
  const passwd* const user = getpwuid(uid);
  // The library may set errno to one of these if the user does not exist (getpwuid(3)). Any other
  // error means that we don't know.
  constexpr std::array nobody{0, ENOENT, ESRCH, EBADF, EPERM};
  if (user == nullptr && std::ranges::find(nobody, errno) == nobody.end())
    return {
        .refused =
            fail_errno(fmt::format("the account of user {} cannot be read", uid)).error().message};
  if (user == nullptr) return {.lacking = fmt::format("user {} has no account", uid)};
  const std::string name = user->pw_name;
  const auto pam = load_pam();
  if (!pam) return {.lacking = "libpam.so.0 is not installed"};
  take_standard_limits();
  std::array<rlimit, RLIM_NLIMITS> before{};
  for (int i = 0; i < RLIM_NLIMITS; ++i) before[static_cast<std::size_t>(i)] = limit_now(i);
  const auto refused = [&](void* handle, int status) {
    const char* const why = pam->error(handle, status);
    return UserLimits{
        .refused = fmt::format("PAM did not open a session for {}: {} (see /etc/pam.d/stabd)", name,
                               one_line(why != nullptr ? why : "unknown error", 500))};
  };
  // A module can't ask the user anything.
  const Conversation silent{.answer = [](int, const void**, void**, void*) { return pam_conv_err; },
                            .data = nullptr};
  void* handle = nullptr;
  if (const int status = pam->start(service, name.c_str(), &silent, &handle); status != pam_success)
    return refused(handle, status);
  const int status = pam->open_session(handle, pam_silent);
  UserLimits limits;
  if (status != pam_success) limits = refused(handle, status);
  for (int i = 0; status == pam_success && i < RLIM_NLIMITS; ++i) {
    const rlimit was = before[static_cast<std::size_t>(i)];
    const rlimit is = limit_now(i);
    if (is.rlim_cur != was.rlim_cur || is.rlim_max != was.rlim_max)
      limits.set.push_back({.resource = i, .soft = is.rlim_cur, .hard = is.rlim_max});
  }
  if (status == pam_success) pam->close_session(handle, pam_silent);
  pam->end(handle, status);
  return limits;
}

UserLimits ask_pam_by(const std::string& program, uid_t uid) {
  const auto failed = [](std::string_view what) {
    return UserLimits{.refused = fmt::format("cannot ask PAM for the user's limits: {}", what)};
  };
  const std::string user = std::to_string(uid);
  const std::array<const char*, 4> argv{program.c_str(), "--limits-of", user.c_str(), nullptr};
  const std::array<const char*, 3> environment{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8",
                                               nullptr};
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) return failed(fail_errno("no pipe").error().message);
  const Fd printed(ends[0]);
  Fd print(ends[1]);
  // Makes the system call directly, because libc's fork would wait for threads that this copy of a
  // process does not have.
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  const auto child = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(print.get(), STDOUT_FILENO) < 0) _exit(126);
    syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0U);
    execve(argv[0], const_cast<char**>(argv.data()), const_cast<char**>(environment.data()));
    _exit(126);
  }
  if (child < 0) return failed(fail_errno("no process").error().message);
  print.reset();
  std::string line;
  std::array<char, 512> buffer;
  for (;;) {
    const ssize_t n = read(printed.get(), buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0 || line.size() > most_line) break;
    line.append(buffer.data(), static_cast<std::size_t>(n));
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0) return failed("stabd --limits-of " + how_it_ended(status));
  return user_limits_in(line);
}

std::string names_of(const std::vector<ResourceLimit>& limits) {
  const auto number = [](rlim_t limit) {
    return limit == RLIM_INFINITY ? "unlimited" : std::to_string(limit);
  };
  std::vector<std::string> words;
  for (const ResourceLimit& each : limits)
    words.push_back(fmt::format(
        "{}={}:{}",
        std::ranges::find(resource_names, each.resource, &std::pair<int, std::string_view>::first)
            ->second,
        number(each.soft), number(each.hard)));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string to_line(const UserLimits& limits) {
  if (!limits.refused.empty()) return "refused " + limits.refused + "\n";
  if (!limits.lacking.empty()) return "lacking " + limits.lacking + "\n";
  return "limits " + names_of(limits.set) + "\n";
}

UserLimits user_limits_in(std::string_view line) {
  const UserLimits none{.refused = "PAM's answer about the user's limits was not understood"};
  if (line.empty() || line.size() > most_line || line.back() != '\n') return none;
  line.remove_suffix(1);
  const auto rest_behind = [&](std::string_view word) -> std::optional<std::string_view> {
    if (!line.starts_with(word)) return std::nullopt;
    return line.substr(word.size());
  };
  if (const auto why = rest_behind("refused "); why && !why->empty())
    return {.refused = one_line(*why, 1000)};
  if (const auto why = rest_behind("lacking "); why && !why->empty())
    return {.lacking = one_line(*why, 1000)};
  auto words = rest_behind("limits ");
  if (!words) return none;
  UserLimits limits;
  while (!words->empty()) {
    const auto space = std::min(words->find(' '), words->size());
    const auto limit = one_limit_in(words->substr(0, space));
    if (!limit) return none;
    limits.set.push_back(*limit);
    words->remove_prefix(std::min(space + 1, words->size()));
  }
  return limits;
}

bool allow(const std::vector<ResourceLimit>& limits) {
  return std::ranges::all_of(limits, [](const ResourceLimit& each) {
    const rlimit now = limit_now(each.resource);
    return each.hard <= now.rlim_max ||
           put_limit(each.resource, {.rlim_cur = now.rlim_cur, .rlim_max = each.hard});
  });
}

bool take(const std::vector<ResourceLimit>& limits) {
  return std::ranges::all_of(limits, [](const ResourceLimit& each) {
    return put_limit(each.resource, {.rlim_cur = each.soft, .rlim_max = each.hard});
  });
}

void take_standard_limits() {
  put_limit(RLIMIT_CORE, {.rlim_cur = 0, .rlim_max = limit_now(RLIMIT_CORE).rlim_max});
  rlimit stack = limit_now(RLIMIT_STACK);
  if (stack.rlim_max == RLIM_INFINITY || stack.rlim_max >= stack_bytes)
    stack.rlim_cur = stack_bytes;
  put_limit(RLIMIT_STACK, stack);
}

const std::vector<ResourceLimit>& limits_of_programs() {
  return programs_limits();
}

void set_limits_of_programs(std::vector<ResourceLimit> limits) {
  programs_limits() = std::move(limits);
}

std::string limits_variable(const UserLimits& limits) {
  return fmt::format("{}={}", variable, to_line(limits));
}

UserLimits limits_from_environment() {
  const char* const line = std::getenv(variable);
  return line != nullptr ? user_limits_in(line) : UserLimits{};
}

}  // namespace stab::machine
