// SPDX-License-Identifier: MIT
#include "plan/options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <iterator>
#include <utility>

#include "base/time.h"
#include "runtime/base/allocators.h"

namespace stab::plan {
namespace {

constexpr std::array<std::string_view, 2> when{"once", "repeated"};
constexpr const char* rerandomize = "rerandomize";
constexpr const char* period = "period";
constexpr const char* budget = "budget";

#define STAB_NAME(name, ...) #name,
constexpr auto allocators = std::to_array<std::string_view>({STAB_EACH_ALLOCATOR(STAB_NAME)});
#undef STAB_NAME
constexpr std::array<std::string_view, 2> moving{"code", "stack"};
constexpr std::array<std::string_view, 1> blocks{"heap"};

// All options. A new option is one line here.
constexpr std::array<RuntimeOption, 7> table{
    {{.name = "code", .kind = OptionKind::flag, .on_by_default = true},
     {.name = "stack", .kind = OptionKind::flag},
     {.name = "heap", .kind = OptionKind::flag, .for_any_program = true},
     {.name = "allocator",
      .kind = OptionKind::choice,
      .choices = allocators,
      .acts_with = blocks,
      .for_any_program = true},
     {.name = rerandomize, .kind = OptionKind::choice, .choices = when, .acts_with = moving},
     {.name = period, .kind = OptionKind::milliseconds, .acts_with = moving},
     {.name = budget, .kind = OptionKind::share, .acts_with = moving}}};

constexpr std::chrono::hours longest_period{1};

std::optional<Level> read_choice(const RuntimeOption& option, const std::string& text) {
  const auto found = std::ranges::find(option.choices, text);
  if (found == option.choices.end()) return std::nullopt;
  return Level{.name = text, .variables = {}, .number = 0};
}

std::optional<Level> read_milliseconds(const std::string& text) {
  using std::chrono::milliseconds;
  const auto time = parse_duration(text);
  if (!time || *time > longest_period) return std::nullopt;
  const auto whole = std::chrono::duration_cast<milliseconds>(*time);
  if (whole != *time || whole.count() < 1) return std::nullopt;
  return Level{.name = fmt::format("{}ms", whole.count()), .variables = {}, .number = 0};
}

// "off", or whole percent from "1%" to "100%".
std::optional<Level> read_share(const std::string& text) {
  unsigned percent = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, percent);
  const bool is_share =
      error == std::errc() && std::string_view(rest, end) == "%" && percent >= 1 && percent <= 100;
  if (text != "off" && !is_share) return std::nullopt;
  return Level{.name = is_share ? fmt::format("{}%", percent) : text, .variables = {}, .number = 0};
}

std::string as_runtime_reads(const RuntimeOption& option, const Level& level) {
  return option.kind == OptionKind::flag ? fmt::format("{}", level.number) : level.name;
}

bool is_on(const RuntimeOption& option, const Options& options) {
  const auto given = options.find(std::string(option.name));
  return given == options.end() ? option.on_by_default : given->second == "1";
}

}  // namespace

const RuntimeOption* find_option(std::string_view name) {
  const auto* const found = std::ranges::find(table, name, &RuntimeOption::name);
  return found == table.end() ? nullptr : &*found;
}

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  for (const RuntimeOption& option : table) names.emplace_back(option.name);
  return names;
}

std::optional<Level> read_flag(const toml::Value& value) {
  const auto* on = std::get_if<bool>(&value.data);
  if (on == nullptr) return std::nullopt;
  return Level{.name = *on ? "true" : "false", .variables = {}, .number = *on ? 1U : 0U};
}

std::optional<Level> read_option(const RuntimeOption& option, const toml::Value& value) {
  if (option.kind == OptionKind::flag) return read_flag(value);
  const auto* text = std::get_if<std::string>(&value.data);
  if (text == nullptr) return std::nullopt;
  switch (option.kind) {
    case OptionKind::choice:
      return read_choice(option, *text);
    case OptionKind::milliseconds:
      return read_milliseconds(*text);
    case OptionKind::share:
      return read_share(*text);
    case OptionKind::flag:
      break;
  }
  return std::nullopt;
}

std::string option_rule(const RuntimeOption& option) {
  switch (option.kind) {
    case OptionKind::flag:
      return std::string(flag_rule);
    case OptionKind::choice:
      return fmt::format("\"{}\"", fmt::join(option.choices, "\" or \""));
    case OptionKind::milliseconds:
      return R"(a duration of whole milliseconds from "1ms" to "1h", for example "500ms")";
    case OptionKind::share:
      return R"("off" or whole percent from "1%" to "100%")";
  }
  return "";
}

Options options_of(const Plan& plan, const std::vector<Level>& levels) {
  Options options;
  const auto set = [&](const std::string& name, const Level& level) {
    options[name] = as_runtime_reads(*find_option(name), level);
  };
  for (const auto& [name, level] : plan.randomize) set(name, level);
  for (std::size_t i = 0; i < plan.factors.size(); ++i) {
    if (plan.factors[i].kind == FactorKind::option) set(plan.factors[i].name, levels[i]);
    if (plan.factors[i].kind == FactorKind::layout)
      options[seed_option] = fmt::format("{}", levels[i].number);
  }
  if (options.contains("allocator")) options.try_emplace("heap", "1");
  if (!options.contains(rerandomize)) {
    if (options.contains(seed_option))
      options[rerandomize] = "once";
    else if (options.contains(period) || options.contains(budget))
      options[rerandomize] = "repeated";
  }
  return options;
}

Options acting(Options options) {
  const bool any = randomizes(options);
  const auto idle = [&](const auto& entry) {
    const RuntimeOption* option = find_option(entry.first);
    if (option == nullptr) return !any;
    return option->kind != OptionKind::flag &&
           std::ranges::none_of(option->acts_with, [&](std::string_view flag) {
             return is_on(*find_option(flag), options);
           });
  };
  Options left;
  std::ranges::remove_copy_if(options, std::inserter(left, left.end()), idle);
  options = std::move(left);
  const auto how = options.find(rerandomize);
  if (how != options.end() && how->second == "once") {
    options.erase(period);
    options.erase(budget);
  }
  return options;
}

bool randomizes(const Options& options) {
  return std::ranges::any_of(table, [&](const RuntimeOption& option) {
    return option.kind == OptionKind::flag && is_on(option, options);
  });
}

bool moves_functions_again(const Options& options) {
  const auto how = options.find(rerandomize);
  return is_on(*find_option("code"), options) &&
         (how == options.end() || how->second == "repeated");
}

std::optional<bool> wants_heap(const Options& options) {
  if (!options.contains("heap")) return std::nullopt;
  return is_on(*find_option("heap"), options);
}

Options plain_options() {
  Options options;
  for (const RuntimeOption& option : table)
    if (option.kind == OptionKind::flag && !option.for_any_program)
      options[std::string(option.name)] = "0";
  return options;
}

bool sets_options(const Plan& plan) {
  const auto sets = [](const Factor& factor) {
    return factor.kind == FactorKind::option || factor.kind == FactorKind::layout;
  };
  return !plan.randomize.empty() || std::ranges::any_of(plan.factors, sets);
}

}  // namespace stab::plan
