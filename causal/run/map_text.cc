// SPDX-License-Identifier: MIT
#include "causal/run/map_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.h"

namespace stab::causal {
namespace {

std::string_view take_until(std::string_view& text, char end) {
  const std::size_t at = text.find(end);
  const std::string_view taken = text.substr(0, at);
  text = at == std::string_view::npos ? "" : text.substr(at + 1);
  return taken;
}

template <class Number>
std::optional<Number> number(std::string_view text, int base) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value, base);
  if (text.empty() || at != end || error != std::errc{}) return std::nullopt;
  return value;
}

bool add_range(LineMap& map, std::string_view fields) {
  const auto start = number<std::uint64_t>(take_until(fields, '\t'), 16);
  const auto size = number<std::uint32_t>(take_until(fields, '\t'), 16);
  const auto line = number<std::uint32_t>(fields, 10);
  if (!start || !size || !line || *line >= map.lines.size() || map.objects.empty()) return false;
  if (*size == 0 || *start > UINT64_MAX - *size) return false;
  auto& ranges = map.objects.back().ranges;
  if (!ranges.empty() && ranges.back().start + ranges.back().size > *start) return false;
  ranges.push_back({.start = *start, .size = *size, .line = *line});
  return true;
}

bool add_file(LineMap& map, std::string_view fields) {
  const auto device = number<std::uint64_t>(take_until(fields, '\t'), 10);
  const auto inode = number<std::uint64_t>(take_until(fields, '\t'), 10);
  const auto size = number<std::uint64_t>(take_until(fields, '\t'), 10);
  const auto modified = number<std::int64_t>(take_until(fields, '\t'), 10);
  const auto changed = number<std::int64_t>(take_until(fields, '\t'), 10);
  if (!device || !inode || !size || !modified || !changed || fields.empty()) return false;
  map.files.push_back({.path = std::string(fields),
                       .state = {.device = *device,
                                 .inode = *inode,
                                 .size = *size,
                                 .modified_ns = *modified,
                                 .changed_ns = *changed}});
  return map.files.size() <= most_files;
}

bool add(LineMap& map, std::string_view record, std::size_t& ranges) {
  const std::string_view kind = take_until(record, '\t');
  if (kind == "range") return ++ranges <= most_ranges && add_range(map, record);
  if (kind == "file") return add_file(map, record);
  if (kind == "line") {
    map.lines.emplace_back(record);
    return !record.empty() && map.lines.size() <= most_lines && map.objects.empty();
  }
  if (kind == "stranger") {
    if (record.empty() || map.objects.empty()) return false;
    map.objects.back().stranger = record;
    return true;
  }
  if (kind != "object") return false;
  const std::string_view has_lines = take_until(record, '\t');
  map.objects.push_back({.path = std::string(record), .has_lines = has_lines == "1"});
  return !record.empty() && map.objects.size() <= most_objects;
}

struct Name {
  std::string_view file;
  std::uint32_t line = 0;
};

std::optional<Name> split(std::string_view name) {
  const std::size_t at = name.rfind(':');
  if (at == std::string_view::npos || at == 0) return std::nullopt;
  const auto line = number<std::uint32_t>(name.substr(at + 1), 10);
  if (!line) return std::nullopt;
  return Name{.file = name.substr(0, at), .line = *line};
}

bool ends_as(std::string_view path, std::string_view file) {
  return path == file || (path.ends_with(file) && path.size() > file.size() &&
                          (file.starts_with('/') || path[path.size() - file.size() - 1] == '/'));
}

}  // namespace

Result<LineMap> parse_map(std::string_view text) {
  if (text.size() > most_map_bytes)
    return fail("the program has too many source lines; select fewer files with --scope");
  LineMap map;
  std::size_t ranges = 0;
  while (!text.empty()) {
    const std::string_view record = take_until(text, '\n');
    if (!add(map, record, ranges))
      return fail(fmt::format("stab-lines printed a line that cannot be parsed: '{}'",
                              one_line(record, 80)));
  }
  return map;
}

Result<std::uint32_t> find_line(const LineMap& map, std::string_view name) {
  const auto wanted = split(name);
  if (!wanted)
    return fail(
        fmt::format("'{}' does not name a source line; write FILE:LINE", one_line(name, 200)));
  std::optional<std::uint32_t> found;
  std::optional<std::uint32_t> nearest;
  std::uint32_t distance = UINT32_MAX;
  for (std::uint32_t i = 0; i < map.lines.size(); ++i) {
    const auto each = split(map.lines[i]);
    if (!each || !ends_as(each->file, wanted->file)) continue;
    const std::uint32_t off =
        std::max(each->line, wanted->line) - std::min(each->line, wanted->line);
    if (off == 0 && found)
      return fail(fmt::format("'{}' matches {} and {}; give more of the path", one_line(name, 200),
                              map.lines[*found], map.lines[i]));
    if (off == 0) found = i;
    if (off >= distance) continue;
    distance = off;
    nearest = i;
  }
  if (found) return *found;
  if (!nearest)
    return fail(
        fmt::format("the scope contains no code of the file that '{}' names; see --scope "
                    "and --binary",
                    one_line(name, 200)));
  return fail(fmt::format("there is no code for {}; the nearest line with code is {}",
                          one_line(name, 200), map.lines[*nearest]));
}

}  // namespace stab::causal
