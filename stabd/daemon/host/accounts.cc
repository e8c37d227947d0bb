// SPDX-License-Identifier: MIT
#include "stabd/daemon/host/accounts.h"

#include <pwd.h>

#include <charconv>
#include <utility>
#include <vector>

#include "base/fd.h"

namespace stab::daemon {
namespace {

constexpr std::size_t most_bytes = std::size_t{4} << 20;

std::optional<std::uint32_t> number_in(std::string_view text) {
  std::uint32_t number = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || rest != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<std::uint32_t> known_user(const std::string& name) {
  const passwd* const known = getpwnam(name.c_str());
  return known == nullptr ? std::nullopt : std::optional<std::uint32_t>(known->pw_uid);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Accounts::Accounts(std::string path, std::uint32_t owner) : path_(std::move(path)), owner_(owner) {
  look_again();
}

Accounts::Accounts(std::string_view text, std::uint32_t owner, const UidOf& uid_of)
    : owner_(owner) {
  read(text, uid_of);
}

void Accounts::look_again() {
  struct stat now{};
  if (path_.empty() || stat(path_.c_str(), &now) != 0) return;
  const auto same = [](const timespec& one, const timespec& other) {
    return one.tv_sec == other.tv_sec && one.tv_nsec == other.tv_nsec;
  };
  if (same(now.st_mtim, seen_.st_mtim) && now.st_ino == seen_.st_ino &&
      now.st_size == seen_.st_size)
    return;
  seen_ = now;
  if (const auto text = read_file(path_, most_bytes)) read(*text, known_user);
}

// A line is "ada:100000:65536", or has her user id instead of her name. Other lines are skipped.
void Accounts::read(std::string_view text, const UidOf& uid_of) {
  ranges_.clear();
  for (const std::string_view line : parts_of(text, '\n')) {
    const auto words = parts_of(line, ':');
    if (words.size() != 3) continue;
    const auto first = number_in(words[1]);
    const auto count = number_in(words[2]);
    if (!first || !count || *count == 0) continue;
    auto account = number_in(words[0]);
    if (!account) account = uid_of(std::string(words[0]));
    if (!account) continue;
    if (*account == 0 || *account == owner_) account = *first;  // A1
    const std::uint32_t last = *count - 1 > ~*first ? ~0U : *first + (*count - 1);
    const auto after = ranges_.upper_bound(last);
    if (after != ranges_.begin() && std::prev(after)->second.last >= *first) continue;
    ranges_.emplace(*first, Range{.last = last, .account = *account});
  }
}

std::uint32_t Accounts::of(std::uint32_t uid) const {
  if (uid == 0 || uid == owner_) return uid;
  const auto after = ranges_.upper_bound(uid);
  if (after == ranges_.begin()) return uid;
  const Range& range = std::prev(after)->second;
  return uid <= range.last ? range.account : uid;
}

}  // namespace stab::daemon
