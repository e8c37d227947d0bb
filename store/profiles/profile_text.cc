// SPDX-License-Identifier: MIT
#include "store/profiles/profile_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <limits>
#include <utility>

#include "store/rows/list_text.h"

namespace stab::store {
namespace {

using counters::Profile;
using counters::ProfiledFunction;

constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();

void add(std::string& to, std::uint64_t number) {
  fmt::format_to(std::back_inserter(to), "{}", std::min(number, most));
}

void add(std::string& to, const ProfiledFunction& function) {
  to += '[';
  add_text(to, function.name);
  to += ',';
  add_text(to, function.object);
  to += ',';
  add(to, function.samples);
  to += ',';
  add(to, function.weight);
  to += ']';
}

class ProfileScanner : private ListScanner {
 public:
  explicit ProfileScanner(std::string_view text) : ListScanner("profile", text) {}

  void read_all(Profile& profile) {
    expect('[');
    read(profile.event);
    if (profile.event.empty()) wrong();
    expect(',');
    read(profile.unit);
    expect(',');
    const std::uint64_t hz = number();
    if (hz > std::numeric_limits<std::uint32_t>::max()) wrong();
    profile.hz = static_cast<std::uint32_t>(hz);
    expect(',');
    profile.lost = number();
    expect(',');
    profile.reason.clear();
    profile.functions.clear();
    if (take('['))
      read_functions(profile.functions);
    else
      read_reason(profile.reason);
    expect(']');
    if (!is_at_end()) wrong();
  }

 private:
  void read_reason(std::string& reason) {
    read(reason);
    if (reason.empty()) wrong();
  }

  void read_functions(std::vector<ProfiledFunction>& functions) {
    if (take(']')) return;  // no sample hit a function
    do {
      ProfiledFunction& each = functions.emplace_back();
      expect('[');
      read(each.name);
      expect(',');
      read(each.object);
      expect(',');
      each.samples = number();
      expect(',');
      each.weight = number();
      expect(']');
    } while (take(','));
    expect(']');
  }

  // Accepts digits only, without leading zeros.
  std::uint64_t number() {
    const std::string_view digits = number_ahead();
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value > most ||
        (digits.size() > 1 && digits.front() == '0'))
      wrong();
    skip(digits);
    return value;
  }
};

}  // namespace

std::string profile_text(const Profile& profile) {
  if (!profile.is_wanted()) return "";
  std::string text;
  text.reserve(counters::bytes_of(profile));
  text += '[';
  add_text(text, profile.event);
  text += ',';
  add_text(text, profile.unit);
  text += ',';
  add(text, profile.hz);
  text += ',';
  add(text, profile.lost);
  text += ',';
  if (!profile.reason.empty()) {
    add_text(text, profile.reason);
  } else {
    text += '[';
    for (const ProfiledFunction& each : profile.functions) {
      if (text.back() == ']') text += ',';
      add(text, each);
    }
    text += ']';
  }
  return text + "]";
}

void read_profile_text(std::string_view text, Profile& profile) {
  if (text.empty())
    profile = {};
  else
    ProfileScanner(text).read_all(profile);
}

}  // namespace stab::store
