// SPDX-License-Identifier: MIT
// Reads [[exclude]], the rules that say which trials were disturbed.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>

#include "plan/measures/formula.h"
#include "plan/plan.h"
#include "plan/reading/draft.h"

namespace stab::plan {
namespace {

constexpr std::size_t most_rules = 20;
constexpr std::string_view form =
    "a quantity, then one of > >= < <=, then a number, for example \"involuntary_switches_per_s > "
    "50\"";

std::string_view trimmed(std::string_view text) {
  const std::size_t from = text.find_first_not_of(' ');
  if (from == std::string_view::npos) return "";
  return text.substr(from, text.find_last_not_of(' ') + 1 - from);
}

struct Parts {
  std::string_view name;
  Bound bound = Bound::above;
  std::string_view limit;
};

std::optional<Parts> parts_of(std::string_view text) {
  const std::size_t at = text.find_first_of("<>");
  if (at == std::string_view::npos) return std::nullopt;
  const bool equal = text.substr(at + 1).starts_with('=');
  const Parts parts{.name = trimmed(text.substr(0, at)),
                    .bound = text[at] == '>' ? (equal ? Bound::at_least : Bound::above)
                                             : (equal ? Bound::at_most : Bound::below),
                    .limit = trimmed(text.substr(at + (equal ? 2 : 1)))};
  if (parts.name.empty() || parts.limit.empty()) return std::nullopt;
  return parts;
}

// Reads "0.05", or "5%" if the quantity is a share.
std::optional<double> limit_of(std::string_view text, const Quantity& quantity) {
  const bool percent = text.ends_with('%');
  if (percent && !quantity.unit.empty()) return std::nullopt;
  if (percent) text.remove_suffix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return percent ? value / 100 : value;
}

// Returns "wall" for "wall", "wall_ns" and "wall_per_s", or "" if the name does not begin with a
// response.
std::string_view response_in(std::string_view name) {
  std::string_view longest;
  for (const std::string_view response : words::responses)
    if (name.starts_with(response) && response.size() > longest.size() &&
        (name.size() == response.size() || name[response.size()] == '_'))
      longest = response;
  return longest;
}

// Returns the quantity that has this reading, or this name without "_per_s": "interrupts",
// "steal-ns".
const Quantity* counted_as(std::string_view name) {
  const auto is_it = [&](const Quantity& each) {
    return each.reading == name ||
           (each.name.starts_with(name) && each.name.substr(name.size()) == "_per_s");
  };
  const auto all = quantities();
  const auto found = std::ranges::find_if(all, is_it);
  return found == all.end() || found->take == Take::as_it_is ? nullptr : &*found;
}

std::string why_no_quantity(std::string_view name) {
  if (const std::string_view response = response_in(name); !response.empty())
    return fmt::format(
        "'exclude.when' must not use the response {}. The rule would drop trials of one arm "
        "because of their results. 'stabctl keys --quantities' lists what rules may use",
        response);
  if (const Quantity* quantity = counted_as(name))
    return fmt::format(
        "'exclude.when' must not use the total {} of a trial. Totals grow with the trial's time, "
        "so the slower arm would lose more trials: write '{}'",
        shown(name), quantity->name);
  Words names;
  for (const Quantity& each : quantities()) names.emplace_back(each.name);
  return fmt::format(
      "'exclude.when' uses '{}', which is not a quantity{}; 'stabctl keys --quantities' lists what "
      "rules may use",
      shown(name), did_you_mean(name, names));
}

// Returns "" if the rule can catch some trials and not others.
std::string_view why_senseless(const Exclusion& rule, const Quantity& quantity) {
  if (has_sign(quantity)) return "";
  if (rule.limit < 0 || (rule.limit == 0 && rule.bound == Bound::at_least))
    return rule.bound == Bound::above || rule.bound == Bound::at_least ? "every" : "no";
  if (rule.limit == 0 && rule.bound == Bound::below) return "no";
  return "";
}

// Returns "" if the rule is about disturbances and not about the trial's time.
std::string_view why_about_time(const Exclusion& rule, const Quantity& quantity) {
  if (quantity.take != Take::per_second && quantity.take != Take::share) return "";
  if (rule.bound == Bound::below || rule.bound == Bound::at_most)
    return "drops slow trials, because this quantity is small in slow trials: use > or >=";
  if (rule.limit == 0)
    return "drops every trial in which this quantity is above 0, which is likely in long trials: "
           "set a bound above 0";
  return "";
}

std::optional<Exclusion> read_when(const Table& table) {
  table.require("when", form);
  const auto when = given<"exclude.when">(table);
  if (!when) return std::nullopt;
  const Pair& pair = *table.find("when");
  const auto parts = parts_of(*when);
  if (!parts) {
    table.refuse(pair, form);
    return std::nullopt;
  }
  const Quantity* quantity = find_quantity(parts->name);
  if (quantity == nullptr) {
    table.problems().add(pair.value.at, why_no_quantity(parts->name));
    return std::nullopt;
  }
  const auto limit = limit_of(parts->limit, *quantity);
  if (!limit) {
    table.problems().add(
        pair.value.at,
        fmt::format("'exclude.when' must compare '{}' with a number{}, not '{}'", quantity->name,
                    quantity->unit.empty() ? " or a percentage" : "", shown(parts->limit)));
    return std::nullopt;
  }
  Exclusion rule{.quantity = std::string(quantity->name), .bound = parts->bound, .limit = *limit};
  if (const std::string_view which = why_senseless(rule, *quantity); !which.empty()) {
    table.problems().add(
        pair.value.at,
        fmt::format(
            "'exclude.when' matches {} trial, because '{}' is never below 0: set another bound",
            which, quantity->name));
    return std::nullopt;
  }
  if (const std::string_view why = why_about_time(rule, *quantity); !why.empty()) {
    table.problems().add(pair.value.at,
                         fmt::format("'exclude.when' with '{}' {}", quantity->name, why));
    return std::nullopt;
  }
  return rule;
}

void check_exclude_of(const std::string& response, Draft& draft) {
  const auto parts = parts_of(draft.plan, response);
  if (const Exclusion* rule = rule_on(draft.plan, parts))
    draft.problems.add({}, fmt::format("'exclude.when' must not use '{}' if {} is the response, "
                                       "because both count the same events",
                                       rule->quantity, shown(response)));
}

}  // namespace

void check_exclude(Draft& draft) {
  const Analysis& analysis = draft.plan.analysis;
  check_exclude_of(analysis.response, draft);
  for (const OtherResponse& other : analysis.others) check_exclude_of(other.name, draft);
}

void read_exclude(const Table& root, Draft& draft) {
  const Items* items = root.items("exclude", "an array of tables, written as [[exclude]]");
  if (items == nullptr) return;
  const Pair& pair = *root.find("exclude");
  if (items->size() > most_rules)
    return draft.problems.add(
        pair.at, fmt::format("a plan may have at most {} rules, but this one has {}", most_rules,
                             items->size()));
  for (const Value& item : *items) {
    if (!std::holds_alternative<Pairs>(item.data)) {
      root.refuse_item(pair, item, "a table, written as [[exclude]]");
      continue;
    }
    const Table table(draft.problems, item, "exclude", names_below("exclude"));
    if (auto rule = read_when(table)) draft.plan.exclude.push_back(*std::move(rule));
  }
}

}  // namespace stab::plan
