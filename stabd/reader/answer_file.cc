// SPDX-License-Identifier: MIT
#include "stabd/reader/answer_file.h"

#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/fd.h"

namespace stab::reader {
namespace {

constexpr std::size_t enough = std::size_t{1} << 18;
constexpr std::size_t max_request = std::size_t{16} << 20;

}  // namespace

Result<std::string> AnswerFile::request() {
  std::string text;
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t n = pread(file_, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return fail_errno("cannot read the request");
    if (n == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(n));
    if (text.size() > max_request) return fail("the request is too long");
  }
  if (!text.ends_with('\n')) return fail("the request is not complete");
  text.pop_back();
  return text;
}

Result<void> AnswerFile::begin() {
  waiting_.clear();
  if (ftruncate(file_, 0) != 0 || lseek(file_, 0, SEEK_SET) != 0)
    return fail_errno("cannot empty the answer's file");
  return {};
}

Result<void> AnswerFile::add(std::string_view piece) {
  waiting_ += piece;
  return waiting_.size() < enough ? Result<void>() : flush();
}

Result<void> AnswerFile::add_around(std::string_view message,
                                    const std::function<Result<void>()>& inside) {
  const std::size_t place = message.rfind('"');
  if (auto added = add(message.substr(0, place)); !added) return added;
  if (auto added = inside(); !added) return added;
  return add(message.substr(place));
}

Result<void> AnswerFile::end() {
  waiting_ += '\n';
  return flush();
}

Result<void> AnswerFile::flush() {
  if (auto written = write_all(file_, waiting_); !written)
    return fail("the answer cannot be stored: " + written.error().message +
                "; free some space where stabd keeps its state");
  waiting_.clear();
  return {};
}

}  // namespace stab::reader
