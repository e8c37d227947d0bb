// SPDX-License-Identifier: MIT
#include "toml/keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

namespace stab::toml {
namespace {

// Writes a duration as a user would: "30min".
std::string written(std::chrono::nanoseconds duration) {
  if (duration < std::chrono::seconds(1))
    return fmt::format("{}ms",
                       std::chrono::duration_cast<std::chrono::milliseconds>(duration).count());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration).count();
  return seconds % 60 == 0 ? fmt::format("{}min", seconds / 60) : fmt::format("{}s", seconds);
}

struct ValueWords {
  template <class T>
  std::string operator()(const Whole<T>& kind) const {
    return fmt::format("{} to {}", kind.min, kind.max);
  }
  std::string operator()(const CountWith& kind) const {
    return fmt::format("{} to {} with `{}`, {} to {} with `{}`", kind.least, kind.max, kind.with,
                       kind.other_least, kind.max, kind.other);
  }
  std::string operator()(const Number& kind) const {
    return fmt::format("{} to {}", kind.min, kind.max);
  }
  std::string operator()(Percentage /*kind*/) const { return "a percentage, as in `\"1%\"`"; }
  std::string operator()(Flag /*kind*/) const { return "`true`, `false`"; }
  std::string operator()(const Duration& kind) const {
    return fmt::format(R"(a duration of at most {} hours, as in `"60s"`{})",
                       longest_duration.count(), kind.or_never ? R"(, or `"never"`)" : "");
  }
  std::string operator()(const Bytes& kind) const {
    return fmt::format("1 to {} bytes, or a size as in `\"16MiB\"`", kind.max);
  }
  std::string operator()(const Choice& kind) const {
    return fmt::format("`\"{}\"`", fmt::join(kind.words, "\"`, `\""));
  }
  std::string operator()(const Choices& kind) const {
    return fmt::format("an array of `\"{}\"`", fmt::join(kind.words, "\"`, `\""));
  }
  std::string operator()(const Text& kind) const { return std::string(kind.words); }
  std::string operator()(const Texts& kind) const {
    return fmt::format("an array, each {}", kind.words);
  }
  std::string operator()(const Several& kind) const {
    return fmt::format("an array of {} to {} {}", kind.least, kind.most, kind.words);
  }
  std::string operator()(const Other& kind) const { return std::string(kind.words); }
};

std::string standard_words(const Key& key) {
  return std::visit(
      [&](const auto& kind) -> std::string {
        using K = std::decay_t<decltype(kind)>;
        if constexpr (requires { kind.standard; }) {
          if (!kind.standard) return std::string(key.otherwise);
          if constexpr (std::is_same_v<K, Choice> || std::is_same_v<K, Text>)
            return fmt::format("`\"{}\"`", *kind.standard);
          if constexpr (std::is_same_v<K, Duration>)
            return fmt::format("`\"{}\"`", written(*kind.standard));
          if constexpr (std::is_same_v<K, Bytes>)
            return *kind.standard % (std::uint64_t{1} << 30) == 0
                       ? fmt::format("`\"{}GiB\"`", *kind.standard >> 30)
                       : fmt::format("`\"{}MiB\"`", *kind.standard >> 20);
          if constexpr (!std::is_same_v<K, Duration>) return fmt::format("{}", *kind.standard);
        }
        return std::string(key.otherwise);
      },
      key.kind);
}

Words strings(std::span<const std::string_view> views) {
  return {views.begin(), views.end()};
}

}  // namespace

std::optional<std::uint32_t> read(const Table& table, std::string_view name, Count kind) {
  const auto whole = table.integer(name, kind.min, kind.max);
  return whole ? std::optional(static_cast<std::uint32_t>(*whole)) : std::nullopt;
}
std::optional<std::uint64_t> read(const Table& table, std::string_view name, Seed kind) {
  return table.integer(name, kind.min, kind.max);
}
std::optional<double> read(const Table& table, std::string_view name, Number kind) {
  return table.number(name, kind.min, kind.max);
}
std::optional<double> read(const Table& table, std::string_view name, Percentage /*kind*/) {
  return table.percentage(name);
}
std::optional<bool> read(const Table& table, std::string_view name, Flag /*kind*/) {
  return table.boolean(name);
}
std::optional<std::chrono::nanoseconds> read(const Table& table, std::string_view name,
                                             Duration kind) {
  const Pair* pair = table.find(name);
  const auto* text = pair == nullptr ? nullptr : std::get_if<std::string>(&pair->value.data);
  if (kind.or_never && text != nullptr && *text == "never") return std::chrono::nanoseconds(0);
  return table.duration(name);
}
std::optional<std::uint64_t> read(const Table& table, std::string_view name, Bytes kind) {
  return table.bytes(name, kind.max);
}
std::optional<std::string> read(const Table& table, std::string_view name, Choice kind) {
  return table.choice(name, strings(kind.words));
}
std::optional<std::vector<std::string>> read(const Table& table, std::string_view name,
                                             Choices kind) {
  return table.choices(name, strings(kind.words));
}
std::optional<std::string> read(const Table& table, std::string_view name, Text kind) {
  return table.text(name, kind.rule, kind.words);
}
std::optional<std::vector<std::string>> read(const Table& table, std::string_view name,
                                             Texts kind) {
  return table.texts(name, kind.rule, kind.words);
}

Words names_below(std::span<const Key> keys, std::string_view path) {
  Words names;
  const std::string above = path.empty() ? "" : std::string(path) + ".";
  for (const Key& key : keys) {
    if (!key.path.starts_with(above)) continue;
    std::string_view name = key.path.substr(above.size());
    name = name.substr(0, name.find('.'));
    if (std::ranges::find(names, name) == names.end()) names.emplace_back(name);
  }
  return names;
}

std::vector<KeyWords> describe_keys(std::span<const Key> keys) {
  std::vector<KeyWords> all;
  for (const Key& key : keys)
    all.push_back({.path = std::string(key.path),
                   .value = std::visit(ValueWords{}, key.kind),
                   .standard = standard_words(key),
                   .meaning = std::string(key.meaning)});
  return all;
}

std::string table_of_keys(const std::vector<KeyWords>& keys) {
  std::string text = "| key | value | meaning | default |\n|---|---|---|---|\n";
  for (const KeyWords& key : keys)
    text +=
        fmt::format("| `{}` | {} | {} | {} |\n", key.path, key.value, key.meaning, key.standard);
  return text;
}

}  // namespace stab::toml
