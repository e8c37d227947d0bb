// SPDX-License-Identifier: MIT
// A trial's profile: the functions in which samples found it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace stab::counters {

// The function of code without a known symbol, inside or outside of an object.
inline constexpr const char* unknown_function = "[unknown]";
inline constexpr const char* kernel_function = "[kernel]";  // the whole kernel
inline constexpr const char* other_functions = "[others]";  // functions that did not fit

struct ProfiledFunction {
  std::string name{};    // the symbol, not demangled
  std::string object{};  // its file's name without folders; "" outside of files
  std::uint64_t samples = 0;
  std::uint64_t weight = 0;  // the number of events that the samples stand for

  bool operator==(const ProfiledFunction&) const = default;
};

struct Profile {
  std::string event{};                        // "" if no profile was requested
  std::string unit{};                         // "ns" for clocks, else ""
  std::uint32_t hz = 0;                       // requested samples per second of running time
  std::string reason{};                       // why there is no profile; "" if there is one
  std::uint64_t lost = 0;                     // records that the kernel dropped for lack of room
  std::vector<ProfiledFunction> functions{};  // most weight first

  [[nodiscard]] bool is_wanted() const { return !event.empty(); }
  bool operator==(const Profile&) const = default;
};

// Upper bounds for the size of the text of a function or of a profile
// (store/rows/lists.h).
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
// The longest name of a function. A longer name is cut and ends in a digest of the whole name.
inline constexpr std::size_t most_function_name = 400;

}  // namespace stab::counters
