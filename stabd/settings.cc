// SPDX-License-Identifier: MIT
#include "stabd/settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "base/fd.h"
#include "base/text.h"

namespace stab::settings {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t max_text = 4096;

// Assigns a value that was read to its field.
template <class T>
void assign(T& field, T value) {
  field = std::move(value);
}
void assign(std::optional<std::uint64_t>& field, std::uint64_t value) {
  field = value;
}
void assign(unsigned& mode, std::string_view octal) {
  mode = static_cast<unsigned>(std::stoul(std::string(octal), nullptr, 8));
}
void assign(std::string& field, std::string_view value) {
  field = value;
}
void assign(Stop& field, std::string_view value) {
  field = value == to_string(Stop::finish) ? Stop::finish : Stop::abandon;
}
void assign(Notices& field, std::string_view value) {
  field = value == to_string(Notices::trouble) ? Notices::trouble : Notices::always;
}

void assign(Quiescers& field, std::string_view value) {
  field = value == to_string(Quiescers::all)      ? Quiescers::all
          : value == to_string(Quiescers::nobody) ? Quiescers::nobody
                                                  : Quiescers::owner;
}

std::string in_quotes(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Writes a field as a text that is read as the same value; "" if it is not set.
struct Written {
  const toml::Kind& kind;

  std::string operator()(const std::string& text) const {
    return text.empty() ? "" : in_quotes(text);
  }
  std::string operator()(bool flag) const { return flag ? "true" : "false"; }
  std::string operator()(Stop stop) const { return in_quotes(to_string(stop)); }
  std::string operator()(Quiescers who) const { return in_quotes(to_string(who)); }
  std::string operator()(Notices notices) const { return in_quotes(to_string(notices)); }
  std::string operator()(unsigned number) const {
    return std::holds_alternative<toml::Choice>(kind) ? fmt::format("\"{:04o}\"", number)
                                                      : fmt::format("{}", number);
  }
  std::string operator()(std::uint64_t bytes) const {
    std::string text = format_bytes(bytes);
    std::erase(text, ' ');
    return text.ends_with("bytes") ? fmt::format("{}", bytes) : in_quotes(text);
  }
  std::string operator()(const std::optional<std::uint64_t>& bytes) const {
    return bytes ? (*this)(*bytes) : "";
  }
  std::string operator()(nanoseconds duration) const {
    if (duration.count() == 0) return "\"never\"";
    for (const auto& [unit, name] :
         {std::pair<nanoseconds, const char*>(std::chrono::hours(1), "h"),
          {std::chrono::minutes(1), "min"},
          {std::chrono::seconds(1), "s"},
          {std::chrono::milliseconds(1), "ms"}})
      if (duration % unit == nanoseconds(0)) return fmt::format("\"{}{}\"", duration / unit, name);
    return fmt::format("\"{}ns\"", duration.count());
  }
  std::string operator()(const std::vector<std::string>& list) const {
    if (list.empty()) return "";
    std::string text = "[";
    for (const std::string& word : list) text += (text.size() > 1 ? ", " : "") + in_quotes(word);
    return text + "]";
  }
};

void check(const toml::Table& root, const Settings& settings, toml::Problems& problems) {
  const auto table = root.find("notify") == nullptr ? std::nullopt : root.open_table("notify");
  const Notify usual = standard().notify;
  if (!table || !settings.notify.command.empty() ||
      (settings.notify.when == usual.when && settings.notify.time_limit == usual.time_limit))
    return;
  for (const toml::Pair& pair : table->pairs())
    problems.add(
        pair.at,
        fmt::format("'notify.{0}' has no effect without 'notify.command': set 'notify.command' "
                    "to a program and its arguments, or leave out 'notify.{0}'",
                    pair.key));
}

}  // namespace

bool is_line(std::string_view text) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
  return !text.empty() && text.size() <= max_text && std::ranges::none_of(text, is_control);
}

// Whether /etc/group could have this name.
bool is_group(std::string_view text) {
  return is_line(text) && !text.contains(':');
}

bool is_absolute_path(std::string_view text) {
  return is_line(text) && text.starts_with('/');
}

// The kernel's limit includes the NUL at the end.
bool is_socket_path(std::string_view text) {
  return is_absolute_path(text) && text.size() < sizeof(sockaddr_un::sun_path);
}

Settings standard() {
  Settings settings;
  for_each_setting(settings, []<toml::Path path>(auto& field) {
    if constexpr (requires { toml::kind_of<keys, path>.standard; }) {
      if constexpr (toml::kind_of<keys, path>.standard.has_value())
        assign(field, *toml::kind_of<keys, path>.standard);
    }
  });
  return settings;
}

std::expected<Settings, std::vector<toml::Problem>> read(std::string_view text, Settings base) {
  toml::Problems problems;
  const auto tree = toml::parse_toml(text);
  if (!tree) {
    problems.add(tree.error().at, tree.error().message);
    return std::unexpected(std::move(problems).take());
  }
  const toml::Table root(problems, *tree, "", toml::names_below(keys, ""));
  std::map<std::string_view, std::optional<toml::Table>> tables;
  for (const std::string_view name : {"daemon", "limits", "machine", "notify", "retention"})
    tables.emplace(name, root.table(name, toml::names_below(keys, name)));
  for_each_setting(base, [&]<toml::Path path>(auto& field) {
    const auto& table = tables.at(path.table());
    if (!table) return;
    if (auto given = toml::read(*table, path.name(), toml::kind_of<keys, path>))
      assign(field, *std::move(given));
  });
  if (problems.empty()) check(root, base, problems);
  if (!problems.empty()) return std::unexpected(std::move(problems).take());
  return base;
}

std::string print(const Settings& settings) {
  std::string text;
  std::string_view current;
  for_each_setting(settings, [&]<toml::Path path>(const auto& field) {
    if (path.table() != current)
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", path.table());
    current = path.table();
    const std::string value = Written{toml::key_of<keys, path>.kind}(field);
    text += value.empty() ? fmt::format("# {}: none\n", path.name())
                          : fmt::format("{} = {}\n", path.name(), value);
  });
  return text;
}

std::vector<std::string_view> differences(const Settings& one, const Settings& other) {
  std::vector<std::string_view> keys_that_differ;
  for_each_setting(one, [&]<toml::Path path>(const auto& field) {
    for_each_setting(other, [&]<toml::Path same>(const auto& its) {
      if constexpr (path.view() == same.view())
        if (field != its) keys_that_differ.push_back(toml::key_of<keys, path>.path);
    });
  });
  return keys_that_differ;
}

bool can_change(std::string_view key) {
  return std::ranges::find(words::fixed_keys, key) == words::fixed_keys.end();
}

Settings changed(const Settings& before, const Settings& after) {
  Settings result = after;
  for_each_setting(result, [&]<toml::Path path>(auto& field) {
    for_each_setting(before, [&]<toml::Path same>(const auto& its) {
      if constexpr (path.view() == same.view())
        if (!can_change(path.view())) field = its;
    });
  });
  return result;
}

std::string table_of_keys() {
  return toml::table_of_keys(toml::describe_keys(keys));
}

namespace {

constexpr std::size_t max_file = std::size_t{1} << 20;

}  // namespace

Result<std::optional<std::string>> load(const std::string& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status{};
  if (!file || fstat(file.get(), &status) != 0) {
    // The home may belong to somebody else, as under sudo.
    if (errno == ENOENT || errno == ENOTDIR || errno == EACCES) return std::nullopt;
    return fail_errno("cannot read the settings in " + path);
  }
  if (status.st_uid != 0 && status.st_uid != geteuid())
    return fail(fmt::format(
        "{} belongs to user {}, but must belong to you or to root: change its owner with chown",
        path, status.st_uid));
  const bool is_device = S_ISCHR(status.st_mode) && status.st_uid == 0;  // /dev/null
  if (!is_device && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(
        fmt::format("other users may write to {}: fix this with 'chmod go-w {}'", path, path));
  // Reads the file that was checked, whatever the path leads to by now.
  auto text = read_file(fmt::format("/proc/self/fd/{}", file.get()), max_file);
  if (!text) return std::unexpected(text.error());
  return *std::move(text);
}

}  // namespace stab::settings
