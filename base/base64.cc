// SPDX-License-Identifier: MIT
#include "base/base64.h"

#include <array>
#include <cstdint>

namespace stab {
namespace {

constexpr std::string_view digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint32_t no_digit = 64;

constexpr std::array<std::uint8_t, 256> values = [] {
  std::array<std::uint8_t, 256> all{};
  all.fill(no_digit);
  for (std::size_t i = 0; i < digits.size(); ++i)
    all[static_cast<unsigned char>(digits[i])] = static_cast<std::uint8_t>(i);
  return all;
}();

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view some = bytes.substr(at, 3);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i)
      group = group << 8U | (i < some.size() ? static_cast<unsigned char>(some[i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i)
      text += i <= some.size() ? digits[group >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  if (text.size() % 4 != 0) return fail("the base64 text is not complete");
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    std::string_view some = text.substr(at, 4);
    const bool last = at + 4 == text.size();
    while (last && some.size() > 2 && some.ends_with('=')) some.remove_suffix(1);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const std::uint32_t value = i < some.size() ? values[static_cast<unsigned char>(some[i])] : 0;
      if (value == no_digit) return fail("the base64 text contains invalid characters");
      group = group << 6U | value;
    }
    for (std::size_t i = 1; i < some.size(); ++i)
      bytes += static_cast<char>(group >> (24 - 8 * i) & 255U);
    if ((group & ((1U << (8 * (4 - some.size()))) - 1)) != 0)
      return fail("the unused bits at the end of the base64 text are not zero");
  }
  return bytes;
}

}  // namespace stab
