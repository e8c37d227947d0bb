// SPDX-License-Identifier: MIT
#include "instrumenter/driver/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/fd.h"

namespace stab::driver {
namespace {

constexpr std::size_t kLimit = std::size_t{256} << 20;
constexpr std::string_view kSpace = " \t\r\n";

// Reads one word that starts at `at`, and moves `at` behind it.
std::string take_word(std::string_view text, std::size_t& at) {
  std::string word;
  char quote = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\\' && at + 1 < text.size()) {
      word += text[++at];
    } else if (quote != 0) {
      if (c == quote) {
        quote = 0;
      } else {
        word += c;
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (kSpace.contains(c)) {
      break;
    } else {
      word += c;
    }
  }
  return word;
}

// Reads a pipe to its end. read_file() does not wait for the first byte.
Result<std::string> read_pipe(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail_errno(fmt::format("cannot open {}", path));
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() <= kLimit) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got == 0) return text;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) return fail_errno(fmt::format("cannot read {}", path));
  }
  return fail(fmt::format("{} is larger than the limit of {} bytes", path, kLimit));
}

// `open_files` holds the files that are being read, so that a file that includes itself is not
// expanded again.
void expand(const std::string& argument, Words& open_files, Words& out, bool& only_once) {
  if (argument.size() < 2 || argument[0] != '@' ||
      std::ranges::find(open_files, argument) != open_files.end()) {
    out.push_back(argument);
    return;
  }
  const std::string path = argument.substr(1);
  struct stat status{};
  const bool regular = stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
  const auto text = regular ? read_file(path, kLimit) : read_pipe(path);
  if (!text) {
    out.push_back(argument);
    return;
  }
  only_once |= !regular;
  open_files.push_back(argument);
  for (const std::string& word : split_response(*text)) expand(word, open_files, out, only_once);
  open_files.pop_back();
}

}  // namespace

Words split_response(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  Words words;
  for (std::size_t at = text.find_first_not_of(kSpace); at < text.size();
       at = text.find_first_not_of(kSpace, at)) {
    words.push_back(take_word(text, at));
  }
  return words;
}

std::string join_response(const Words& words) {
  std::string text;
  for (const std::string& word : words) {
    if (word.empty()) text += "\"\"";
    for (const char c : word) {
      if (kSpace.contains(c) || c == '\\' || c == '"' || c == '\'') text += '\\';
      text += c;
    }
    text += '\n';
  }
  return text;
}

Words expand_response_files(const Words& arguments, bool* only_once) {
  Words out;
  Words open_files;
  bool once = false;
  for (const std::string& argument : arguments) expand(argument, open_files, out, once);
  if (only_once != nullptr) *only_once = once;
  return out;
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_set(const char* name) {
  const std::string value = environment(name);
  return !value.empty() && value != "0";
}

Result<std::uint64_t> parse_seed(std::string_view name, std::string_view text) {
  std::uint64_t seed = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size())
    return fail(
        fmt::format("{}={}: the seed must be a whole number from 0 to 2^64 - 1", name, text));
  return seed;
}

namespace {

constexpr int kCannotStart = 127;

std::vector<char*> to_argv(const Words& words) {
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  // execv promises not to change its arguments.
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  return argv;
}

// Less than any kernel's limit for one argument.
constexpr std::size_t longest_word = 100'000;

// The limit for all arguments together; the environment needs room beside them.
std::size_t most_bytes() {
  const long limit = sysconf(_SC_ARG_MAX);
  return limit > 0 ? static_cast<std::size_t>(limit) / 4 : longest_word;
}

// Returns the same words. If they are very long, the words behind the first `kept` are in a
// response file. The file has no name and stays open for the program, so nothing is left behind,
// however the program ends.
Words shortened(const Words& words, std::size_t kept) {
  std::size_t bytes = 0;
  std::size_t longest = 0;
  for (const std::string& word : words) {
    bytes += word.size() + 1 + sizeof(char*);
    longest = std::max(longest, word.size());
  }
  if ((bytes <= most_bytes() && longest <= longest_word) || kept >= words.size()) return words;
  const int file = memfd_create("szc-arguments", 0);
  if (file < 0) return words;
  const auto first = words.begin() + static_cast<std::ptrdiff_t>(kept);
  const std::string name = fmt::format("/proc/self/fd/{}", file);
  if (!write_all(file, join_response({first, words.end()})) || access(name.c_str(), R_OK) != 0) {
    close(file);
    return words;
  }
  Words result(words.begin(), first);
  result.push_back("@" + name);
  return result;
}

}  // namespace

Error become(const Words& given, std::size_t kept) {
  const Words words = shortened(given, kept);
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

namespace {

// Returns the start of what a program wrote to this file. Begins with the first error, because
// linkers warn before.
std::string quote(const Fd& file) {
  constexpr std::size_t longest_read = 65'536;
  constexpr std::size_t longest_quote = 4'096;
  std::string text(longest_read, '\0');
  const ssize_t got = file ? pread(file.get(), text.data(), text.size(), 0) : 0;
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  if (const std::size_t error = text.find("error:"); error != std::string::npos)
    text.erase(0, text.rfind('\n', error) + 1);
  text.resize(std::min(text.size(), longest_quote));
  text.erase(text.find_last_not_of(kSpace) + 1);
  return text;
}

std::string describe(const Words& words, int status) {
  if (WIFSIGNALED(status))
    return fmt::format("{} was ended by signal {}", words[0], WTERMSIG(status));
  return fmt::format("{} ended with exit status {} and without a message", words[0],
                     WEXITSTATUS(status));
}

}  // namespace

Result<std::string> read_output(const Words& words) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail_errno("pipe");
  const Fd errors(memfd_create("szc-errors", MFD_CLOEXEC));
  const pid_t child = fork();
  if (child < 0) return fail_errno("fork");
  if (child == 0) {
    const int nobody = open("/dev/null", O_RDWR);
    dup2(nobody, STDIN_FILENO);
    dup2(errors ? errors.get() : nobody, STDERR_FILENO);
    dup2(ends[1], STDOUT_FILENO);
    const Error error = become(words);
    fmt::print(stderr, "{}\n", error.message);
    _exit(kCannotStart);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) != 0;) {
    if (got > 0) text.append(buffer, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return fail_errno("waitpid");
  if (status == 0) return text;
  const std::string message = quote(errors);
  return fail(message.empty() ? describe(words, status) : message);
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
