// SPDX-License-Identifier: MIT
// Whose a user id is. Whoever has a range of subordinate ids (/etc/subuid) can be as many users as it has numbers: limits
// count all of them as one account.
//
// Invariants
//  A1  An id in a range counts for the owner of the range, the first one that names it. Root's and the daemon's own ranges
//      count for themselves: nobody becomes trusted by a range.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace stab::daemon {

class Accounts {
 public:
  using UidOf = std::function<std::optional<std::uint32_t>(const std::string& name)>;
  // Those of the file as it is now; none if it can't be read. It is read again after it has changed.
  explicit Accounts(std::string path, std::uint32_t owner);
  Accounts(std::string_view text, std::uint32_t owner, const UidOf& uid_of);

  // The account of this user.
  [[nodiscard]] std::uint32_t of(std::uint32_t uid) const;
  [[nodiscard]] bool is_same(std::uint32_t one, std::uint32_t other) const {
    return of(one) == of(other);
  }
  void look_again();

 private:
  void read(std::string_view text, const UidOf& uid_of);

  struct Range {
    std::uint32_t last = 0;
    std::uint32_t account = 0;
  };
  std::string path_;
  std::uint32_t owner_;
  struct stat seen_{};
  std::map<std::uint32_t, Range> ranges_;  // by their first id; none overlaps another
};

}  // namespace stab::daemon
