// SPDX-License-Identifier: MIT
// Maps user ids to accounts. The owner of a range of subordinate ids (/etc/subuid) can act as every
// user in it, so limits count all of them as one account.
//
// Invariants
//  A1  An id belongs to the owner of its range; if ranges overlap, the first one counts. A range of
//      root or of the daemon's own user is an account of its own: nobody becomes trusted through a
//      range.
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
  // Reads the ranges from the file; without a readable file there are no ranges. look_again() reads
  // a file that has changed.
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
  std::map<std::uint32_t, Range> ranges_;  // by first id; ranges don't overlap
};

}  // namespace stab::daemon
