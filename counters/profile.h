// SPDX-License-Identifier: MIT
// Where the time of a trial went, function by function: what samples of it found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stab::counters {

inline constexpr const char* unknown_function = "[unknown]";  // in an object, or in none
inline constexpr const char* kernel_function = "[kernel]";    // all of it
inline constexpr const char* other_functions = "[others]";    // those for which there was no room

struct ProfiledFunction {
  std::string name{};    // as the symbol is written
  std::string object{};  // its file's name without folders; "": in none
  std::uint64_t samples = 0;
  std::uint64_t weight = 0;  // of the event, as the samples stand for it

  bool operator==(const ProfiledFunction&) const = default;
};

struct Profile {
  std::string event{};                        // "": none was asked for
  std::string unit{};                         // "ns" of clocks, else ""
  std::uint32_t hz = 0;                       // samples per second of what runs, as asked for
  std::string reason{};                       // why there is none; "" if there is one
  std::uint64_t lost = 0;                     // records that the kernel had no room for
  std::vector<ProfiledFunction> functions{};  // most weight first

  [[nodiscard]] bool is_wanted() const { return !event.empty(); }
  bool operator==(const Profile&) const = default;
};

// An upper bound for the bytes of one function's text (store/profiles/profile_text.h), or of a profile's.
inline std::size_t bytes_of(const ProfiledFunction& function) {
  return 48 + 6 * (function.name.size() + function.object.size());
}
inline std::size_t bytes_of(const Profile& profile) {
  std::size_t bytes = 64 + 6 * (profile.event.size() + profile.unit.size() + profile.reason.size());
  for (const ProfiledFunction& each : profile.functions) bytes += bytes_of(each);
  return profile.is_wanted() ? bytes : 0;
}
inline constexpr std::size_t most_profile_bytes = std::size_t{256} << 10;
inline constexpr std::size_t most_profiled_functions = 200;
// Of a symbol's name; a longer one is cut, and ends in a digest of all of it.
inline constexpr std::size_t most_function_name = 400;

}  // namespace stab::counters
