// SPDX-License-Identifier: MIT

#include "client/streams.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/streams.h"
#include "base/text.h"

namespace stab::client {
namespace {

Result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  std::vector<char> buffer(std::size_t{1} << 20);
  while (true) {
    const ssize_t got = read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("cannot read " + path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<Input> Input::open(const std::string& path) {
  Fd file;
  if (path != "-") {
    file = Fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file) return fail_errno("cannot open " + path);
  }
  const int fd = path == "-" ? STDIN_FILENO : file.get();
  struct stat status{};
  if (fstat(fd, &status) != 0) return fail_errno("cannot read " + path);
  if (S_ISDIR(status.st_mode)) return fail(path + " is a folder");
  Input input;
  if (path != "-" && S_ISREG(status.st_mode) && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* mapping = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapping == MAP_FAILED) return fail_errno("cannot read " + path);
    input.mapping_ = mapping;
    input.size_ = size;
    return input;
  }
  auto text = read_all(fd, path);
  if (!text) return std::unexpected(text.error());
  input.copy_ = std::move(*text);
  return input;
}

Input::Input(Input&& other) noexcept
    : mapping_(std::exchange(other.mapping_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      copy_(std::move(other.copy_)) {}

Input::~Input() {
  if (mapping_ != nullptr) munmap(mapping_, size_);
}

std::string_view Input::text() const {
  if (mapping_ == nullptr) return copy_;
  return {static_cast<const char*>(mapping_), size_};
}

namespace {

// The length of a colour sequence (ESC [ numbers m) at the start of the text, or 0.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string with_colours(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    std::size_t plain = text.find('\x1b');
    while (plain != std::string_view::npos && colour_length(text.substr(plain)) == 0)
      plain = text.find('\x1b', plain + 1);
    plain = std::min(plain, text.size());
    shown += for_terminal(text.substr(0, plain));
    text.remove_prefix(plain);
    const std::size_t length = colour_length(text);
    shown += text.substr(0, length);
    text.remove_prefix(length);
  }
  return shown;
}

// Writes directly to a pipe or a device, and replaces a file as a whole or not at all.
Result<void> write_to_file(std::string_view text, const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    const Fd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd) return fail_errno("cannot write " + path);
    return write_all(fd.get(), text);
  }
  auto written = write_file_atomically(path, text);
  if (written) mark_as_output(path);
  return written;
}

}  // namespace

bool reader_has_gone() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0;
}

bool colours_are_allowed() {
  const char* refused = std::getenv("NO_COLOR");
  return refused == nullptr || *refused == '\0';
}

bool wants_colour() {
  return isatty(STDOUT_FILENO) == 1 && colours_are_allowed();
}

std::optional<std::uint32_t> terminal_width() {
  if (isatty(STDOUT_FILENO) != 1) return std::nullopt;
  std::uint32_t columns = 0;
  const char* asked = std::getenv("COLUMNS");
  const std::string_view text = asked == nullptr ? "" : asked;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), columns);
  if (error == std::errc() && end == text.data() + text.size() && columns > 0) return columns;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return std::nullopt;
  return size.ws_col;
}

std::string for_terminal(std::string_view text) {
  std::string lines;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    lines += one_line(text.substr(start, end - start), text.size());
    if (end < text.size()) lines += '\n';
    start = end + 1;
  }
  return lines;
}

Result<void> write_output(std::string_view text, const std::string& path, Colours colours) {
  if (!path.empty() && path != "-") return write_to_file(text, path);
  std::fflush(stdout);
  const bool raw = isatty(STDOUT_FILENO) == 0;
  auto written = write_all(
      STDOUT_FILENO, raw ? std::string(text)
                         : (colours == Colours::ours ? with_colours(text) : for_terminal(text)));
  if (!written && errno == EPIPE) return {};
  return written;
}

Result<void> write_json(const std::string& text) {
  return write_output(text + "\n", "", Colours::none);
}

Result<void> flush_output() {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  if (reader_has_gone()) return {};
  return errno == 0 ? fail("cannot write the whole output") : fail_errno("cannot write the output");
}

std::string local_time(std::int64_t ns) {
  if (ns == 0) return "";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}",
                     fmt::localtime(static_cast<std::time_t>(ns / 1'000'000'000)));
}

void tell(std::string_view text) {
  const auto ignored = write_all(STDERR_FILENO, for_terminal(text) + "\n");
  static_cast<void>(ignored);
}

}  // namespace stab::client
