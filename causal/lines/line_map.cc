// SPDX-License-Identifier: MIT
#include "causal/lines/line_map.h"

#include <charconv>

namespace stab::causal {

std::optional<LineName> split_line(std::string_view name) {
  const std::size_t at = name.rfind(':');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const std::string_view digits = name.substr(at + 1);
  LineName split{.file = name.substr(0, at)};
  const char* end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, split.line);
  if (digits.empty() || stop != end || error != std::errc{}) return std::nullopt;
  return split;
}

bool is_called(const LineName& line, const LineName& name) {
  const std::string_view path = line.file;
  const std::string_view file = name.file;
  return line.line == name.line &&
         (path == file ||
          (path.ends_with(file) && path.size() > file.size() &&
           (file.starts_with('/') || path[path.size() - file.size() - 1] == '/')));
}

}  // namespace stab::causal
