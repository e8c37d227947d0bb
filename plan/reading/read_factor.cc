// SPDX-License-Identifier: MIT
// Reads [factor.NAME] (the user's factors and the built-in ones) and [randomize].
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <ranges>
#include <utility>

#include "base/time.h"
#include "plan/options.h"
#include "plan/reading/draft.h"
#include "plan/texts.h"

namespace stab::plan {

namespace {

struct Range {
  std::uint64_t min = 0;
  std::uint64_t max = 0;
};

// The levels that a plan may give a factor that is built in.
struct Builtin {
  FactorKind kind;
  std::string rule;  // how a level is written
  std::function<std::optional<Level>(const Value&)> read;
  // The interval from which random levels are drawn. Nothing: the levels can't be random.
  std::optional<Range> drawn{};
  bool has_bounds = false;  // whether the plan may choose a smaller interval
};

std::optional<Level> read_time(const Value& item) {
  const auto* text = std::get_if<std::string>(&item.data);
  const auto time = text == nullptr ? std::nullopt : parse_duration(*text);
  if (!time || *time > max_arrival_speedup) return std::nullopt;
  return Level{.name = *text, .variables = {}, .number = static_cast<std::uint64_t>(time->count())};
}

std::optional<Level> read_number(const Value& item, const Range& range) {
  const auto* number = std::get_if<std::int64_t>(&item.data);
  if (number == nullptr || std::cmp_less(*number, range.min) ||
      std::cmp_greater(*number, range.max))
    return std::nullopt;
  return Level{.name = fmt::format("{}", *number),
               .variables = {},
               .number = static_cast<std::uint64_t>(*number)};
}

Builtin number_factor(FactorKind kind, const Range& range, std::string rule) {
  return {.kind = kind,
          .rule = std::move(rule),
          .read = [range](const Value& item) { return read_number(item, range); },
          .drawn = range};
}

Builtin seed_factor(FactorKind kind) {
  return number_factor(kind, {.min = 1, .max = max_drawn_seed},
                       fmt::format("a seed, a whole number from 1 to {}", max_drawn_seed));
}

Builtin env_bytes_factor() {
  Builtin bytes = number_factor(FactorKind::env_bytes, {.min = 0, .max = max_env_bytes},
                                fmt::format("a whole number of bytes from 0 to {}", max_env_bytes));
  bytes.has_bounds = true;
  return bytes;
}

// A row for each built-in factor that is not an option of the runtime. A new one also needs a value
// of FactorKind, and design/resolve.cc says what it does to a trial.
const std::map<std::string_view, Builtin>& builtins() {
  static const std::map<std::string_view, Builtin> rows{
      {"env_bytes", env_bytes_factor()},
      {"link_order", seed_factor(FactorKind::link_order)},
      {"link_padding", seed_factor(FactorKind::link_padding)},
      {"layout", seed_factor(FactorKind::layout)},
      {"aslr", {.kind = FactorKind::aslr, .rule = std::string(flag_rule), .read = read_flag}},
      {"arrival_speedup",
       {.kind = FactorKind::arrival_speedup,
        .rule = "a time from \"0ns\" to \"10s\", for example \"250us\"",
        .read = read_time}}};
  return rows;
}

// Returns nothing if the factor is the user's own.
std::optional<Builtin> find_builtin(std::string_view name) {
  if (const RuntimeOption* option = find_option(name); option != nullptr)
    return Builtin{.kind = FactorKind::option,
                   .rule = option_rule(*option),
                   .read = [option](const Value& item) { return read_option(*option, item); }};
  const auto row = builtins().find(name);
  return row == builtins().end() ? std::nullopt : std::optional(row->second);
}

Words builtin_names() {
  Words names = option_names();
  for (const auto& [name, row] : builtins()) names.emplace_back(name);
  return names;
}

// These names are columns in a table of trials, or words in a model's formula.
const Words reserved{
    "experiment",  "benchmark",   "trial",   "position",        "block",      "cell",
    "warmup",      "attempt",     "seed",    "status",          "Residuals",  "wall",
    "user",        "system",      "cpu",     "relative_cpu",    "max_rss",    "build",
    "exit",        "signal",      "region",  "main_to_exit",    "randomized", "randomization",
    "layout_note", "layout_seed", "epochs",  "given_up",        "functions",  "moved_functions",
    "text_bytes",  "moved_bytes", "regions", "heap_operations", "heap_bytes", "heap_fixed_bytes"};

bool has_word(const Words& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

bool name_is_good(const Pair& pair, Problems& problems) {
  if (!is_identifier(pair.key)) {
    problems.add(pair.at, fmt::format("'factor.{}' is not a valid name for a factor: use {}",
                                      shown(pair.key), identifier_rule));
    return false;
  }
  if (has_word(reserved, pair.key)) {
    problems.add(pair.at, fmt::format("'factor.{}': results already have a column of that name, so "
                                      "give the factor another name",
                                      pair.key));
    return false;
  }
  return true;
}

void refuse_own_variables(const Table& level) {
  for (const Pair& pair : level.pairs())
    if (has_word(own_variables, pair.key))
      level.problems().add(pair.at, fmt::format("'{}' is set by stabd itself: choose another name",
                                                level.path(pair.key)));
}

// The first level determines the factor's variables.
void compare_with_others(const Pair& pair, const Table& levels, const Level& level,
                         const std::vector<Level>& others) {
  if (others.empty()) return;
  const auto by_name = [](const auto& a, const auto& b) { return a.first == b.first; };
  const Variables& first = others.front().variables;
  if (!std::ranges::equal(first, level.variables, by_name)) {
    levels.problems().add(
        pair.at,
        fmt::format("'{}' must set the same variables as the level '{}': {}", levels.path(pair.key),
                    others.front().name, fmt::join(std::views::keys(first), ", ")));
    return;
  }
  const auto same = std::ranges::find(others, level.variables, &Level::variables);
  if (same != others.end())
    levels.problems().add(pair.at,
                          fmt::format("'{}' is the same as the level '{}': change or remove it",
                                      levels.path(pair.key), same->name));
}

// If a factor is wrong, the names that it would have set are not also reported as unknown.
void declare_variables(const Table& levels, Draft& draft) {
  for (const Pair& level : levels.pairs())
    if (const auto* variables = std::get_if<Pairs>(&level.value.data))
      for (const Pair& variable : *variables) draft.declared.push_back(variable.key);
}

void read_level(const Pair& pair, const Table& levels, std::vector<Level>& read, Draft& draft) {
  if (!is_name(pair.key))
    draft.problems.add(pair.at, fmt::format("'{}' is not a valid name for a level: use {}",
                                            levels.path(pair.key), name_rule));
  if (!std::holds_alternative<Pairs>(pair.value.data)) {
    levels.refuse(pair, R"(a table of variables, for example { CFLAGS = "-O2" })");
    return;
  }
  const Table table(draft.problems, pair.value, levels.path(pair.key));
  refuse_own_variables(table);
  if (table.pairs().empty())
    draft.problems.add(pair.at, fmt::format("'{}' sets no variable: add one that a benchmark uses",
                                            levels.path(pair.key)));
  Level level{.name = pair.key, .variables = variables_of(table)};
  for (const auto& [name, value] : level.variables)
    draft.values.push_back({table.find(name)->at, table.path(name), value});
  compare_with_others(pair, levels, level, read);
  read.push_back(std::move(level));
}

// Reports why a factor that is not built in can't have this form: "'factor.x.random' ...".
void refuse_shape(const Pair& at, std::string_view what, const Pair& factor, Problems& problems) {
  problems.add(at.at, fmt::format("'factor.{}.{}{}", factor.key, what,
                                  did_you_mean(factor.key, builtin_names())));
}

// "origin/old~2" becomes a level with the name "origin-old-2".
std::string name_of_revision(std::string_view revision) {
  constexpr std::size_t longest = 64;
  if (revision == working_tree) return "working-tree";
  std::string name;
  for (const char c : revision.substr(0, longest)) name += is_name(std::string("a") + c) ? c : '-';
  return is_name(name) ? name : "revision";
}

// The commits of revisions that the plan has in [revisions].
Variables commits_of(const Table& root, Draft& draft) {
  Variables commits;
  const auto table = root.open_table("revisions");
  if (!table) return commits;
  for (const Pair& pair : table->pairs())
    if (auto commit = table->text(pair.key, is_commit, commit_rule))
      commits[pair.key] = *std::move(commit);
  for (const Pair& pair : table->pairs())
    if (!is_revision(pair.key))
      draft.problems.add(pair.at, fmt::format("'{}' does not name a revision: use {}",
                                              table->path(pair.key), revision_rule));
  return commits;
}

// The name and the revision of a level, with its position.
struct NamedRevision {
  Position at;
  std::string name;
  std::string revision;
};
std::vector<NamedRevision> revisions_in(const Pair& pair, const Table& table, Draft& draft) {
  std::vector<NamedRevision> found;
  if (std::holds_alternative<Pairs>(pair.value.data)) {
    const Table named(draft.problems, pair.value, table.path(pair.key));
    for (const Pair& each : named.pairs())
      if (const auto revision = named.text(each.key, is_revision, revision_rule))
        found.push_back({each.at, each.key, *revision});
    return found;
  }
  const auto texts = table.texts(pair.key, is_revision, revision_rule);
  if (!texts) return found;  // reported already
  const Items& items = std::get<Items>(pair.value.data);
  for (std::size_t i = 0; i < texts->size(); ++i)
    found.push_back({items[i].at, name_of_revision((*texts)[i]), (*texts)[i]});
  return found;
}

void add_revision(const NamedRevision& given, const std::string& path, const Variables& commits,
                  std::vector<Level>& levels, Draft& draft) {
  const auto refuse = [&](const std::string& what) {
    draft.problems.add(given.at, fmt::format("'{}': {}", path, what));
  };
  if (!is_name(given.name))
    return refuse(
        fmt::format("'{}' is not a valid name for a level: use {}", shown(given.name), name_rule));
  const auto commit = commits.find(given.revision);
  const Level level{.name = given.name,
                    .variables = {},
                    .revision = commit == commits.end() ? given.revision : commit->second};
  for (const Level& other : levels) {
    if (other.name == level.name)
      return refuse(fmt::format(
          "two levels have the name '{}': give them different names, for example {{ before = "
          "\"main\", after = \".\" }}",
          level.name));
    if (other.revision == level.revision)
      return refuse(
          fmt::format("the levels '{}' and '{}' are the same revision: change or remove one",
                      other.name, level.name));
  }
  levels.push_back(level);
}

void read_revisions(const Pair& factor, const Table& table, const Variables& commits,
                    Draft& draft) {
  const Pair& pair = *table.find("revisions");
  const std::string path = table.path("revisions");
  for (const char* other : {"levels", "random"})
    if (const Pair* given = table.find(other))
      draft.problems.add(
          given->at,
          fmt::format("'{}' and 'revisions' both define levels: remove one", table.path(other)));
  if (draft.has_revisions)
    draft.problems.add(pair.at,
                       fmt::format("'{}' is a second list of revisions, but each program is built "
                                   "from only one revision: remove one of the two lists",
                                   path));
  draft.has_revisions = true;
  constexpr std::size_t most = 100;  // each needs a copy of the repository for a while
  const std::size_t before = draft.problems.count();
  const auto given = revisions_in(pair, table, draft);
  if (draft.problems.count() > before) return;
  if (given.size() < 2 || given.size() > most) {
    draft.problems.add(pair.at,
                       fmt::format("'{}' must have 2 to {} revisions, for example [\"main\", "
                                   "\".\"], not {}",
                                   path, most, given.size()));
    return;
  }
  FixedLevels read;
  for (const NamedRevision& each : given) add_revision(each, path, commits, read.levels, draft);
  draft.factors.push_back(
      {factor.at, {.name = factor.key, .kind = FactorKind::user, .levels = std::move(read)}});
}

void read_user_factor(const Pair& pair, const Variables& commits, Draft& draft) {
  const Table table(draft.problems, pair.value, "factor." + pair.key, names_below("factor.NAME"));
  if (table.find("revisions") != nullptr) return read_revisions(pair, table, commits, draft);
  if (const Pair* random = table.find("random"))
    refuse_shape(
        *random,
        "random' is only for the built-in factors env_bytes, link_order, link_padding and layout",
        pair, draft.problems);
  else
    table.require("levels", R"(two levels or more, for example { O2 = { CFLAGS = "-O2" }, ... })");
  const Pair* given = table.find("levels");
  if (given == nullptr) return;
  if (!std::holds_alternative<Pairs>(given->value.data)) {
    refuse_shape(*given, R"(levels' must be a table, for example { O2 = { CFLAGS = "-O2" }, ... })",
                 pair, draft.problems);
    return;
  }
  const Table levels(draft.problems, given->value, table.path("levels"));
  declare_variables(levels, draft);
  if (levels.pairs().size() < 2 || levels.pairs().size() > max_length) {
    draft.problems.add(given->at,
                       fmt::format("'{}' must have 2 to {} levels, not {}", table.path("levels"),
                                   max_length, levels.pairs().size()));
    return;
  }
  FixedLevels read;
  for (const Pair& level : levels.pairs()) read_level(level, levels, read.levels, draft);
  draft.factors.push_back({pair.at, {.name = pair.key, .kind = FactorKind::user, .levels = read}});
}

FixedLevels read_levels(const Table& table, const Builtin& builtin) {
  const Pair& pair = *table.find("levels");
  const Items* items = table.items("levels", builtin.rule == flag_rule ? "an array: [false, true]"
                                             : builtin.drawn           ? "an array of numbers"
                                                                       : "an array of texts");
  FixedLevels fixed;
  if (items == nullptr) return fixed;
  if (items->empty() || items->size() > max_length)
    table.problems().add(pair.at, fmt::format("'{}' must have 1 to {} levels, not {}",
                                              table.path("levels"), max_length, items->size()));
  for (const Value& item : *items) {
    auto level = builtin.read(item);
    if (!level) {
      table.refuse_item(pair, item, builtin.rule);
    } else if (std::ranges::any_of(fixed.levels, [&](const Level& other) {
                 // Two options with the same number may differ in their names.
                 return other.name == level->name ||
                        (builtin.kind != FactorKind::option && other.number == level->number);
               })) {
      table.problems().add(item.at, fmt::format("'{}' has the level {} twice: remove one",
                                                table.path("levels"), level->name));
    } else {
      fixed.levels.push_back(*std::move(level));
    }
  }
  return fixed;
}

// The interval from which a random level is drawn.
Range read_bounds(const Table& random, const Builtin& builtin) {
  Range range = *builtin.drawn;
  if (!builtin.has_bounds) return range;
  range.min = value<"factor.env_bytes.random.min">(random);
  range.max = value<"factor.env_bytes.random.max">(random);
  if (range.min >= range.max)
    random.problems().add(
        (random.find("min") != nullptr ? random.find("min") : random.find("max"))->at,
        fmt::format("'{}' must be below '{}', but they are {} and {}", random.path("min"),
                    random.path("max"), range.min, range.max));
  return range;
}

RandomSeeds read_seeds(const Table& random, const Range& range) {
  random.require("seeds", "how many seeds each cell gets, at least 2");
  random.require("runs", "how often each seed is run");
  RandomSeeds seeds{.minimum = range.min, .maximum = range.max};
  if (const auto count = given<"factor.NAME.random.seeds">(random)) {
    seeds.seeds = *count;
    if (range.min < range.max && range.max - range.min + 1 < *count)
      random.problems().add(random.find("seeds")->at,
                            fmt::format("'{}' is {}, but there are only {} values from {} to {}",
                                        random.path("seeds"), *count, range.max - range.min + 1,
                                        range.min, range.max));
  }
  if (const auto runs = given<"factor.NAME.random.runs">(random)) seeds.runs = *runs;
  return seeds;
}

void read_random(const Table& table, const Builtin& builtin, Factor& factor) {
  Words known = names_below("factor.NAME.random");
  if (builtin.has_bounds)
    std::ranges::copy(names_below("factor.env_bytes.random"), std::back_inserter(known));
  const auto random = table.table("random", known);
  if (!random) return;
  const Range range = read_bounds(*random, builtin);
  const bool has_seeds = random->find("seeds") != nullptr || random->find("runs") != nullptr;
  const Pair* per = random->find("per");
  if (has_seeds == (per != nullptr)) {
    table.problems().add(
        table.find("random")->at,
        fmt::format("'{}' must be {{ per = \"block\" }} or {{ seeds = 10, runs = 3 }}",
                    table.path("random")));
  } else if (has_seeds) {
    factor.levels = read_seeds(*random, range);
  } else if (given<"factor.NAME.random.per">(*random)) {
    factor.levels = RandomPerBlock{.minimum = range.min, .maximum = range.max};
  }
}

// Reads the levels of a built-in factor, fixed or random.
void read_builtin_factor(const Pair& pair, const Builtin& builtin, Draft& draft) {
  const Table table(draft.problems, pair.value, "factor." + pair.key, names_below("factor.NAME"));
  Factor factor{.name = pair.key, .kind = builtin.kind, .levels = {}};
  const Pair* random = table.find("random");
  if ((table.find("levels") != nullptr) == (random != nullptr))
    draft.problems.add(pair.at,
                       fmt::format("'factor.{}' must have either levels or random", pair.key));
  else if (random == nullptr)
    factor.levels = read_levels(table, builtin);
  else if (!builtin.drawn)
    draft.problems.add(random->at,
                       fmt::format("'factor.{}.random' is not possible: use levels{}", pair.key,
                                   builtin.rule == flag_rule ? " = [false, true]" : ""));
  else
    read_random(table, builtin, factor);
  draft.factors.push_back({pair.at, std::move(factor)});
}

void read_factor(const Pair& pair, const Table& all, const Variables& commits, Draft& draft) {
  if (!name_is_good(pair, draft.problems)) return;
  if (!std::holds_alternative<Pairs>(pair.value.data)) {
    all.refuse(pair, "a table with levels or random");
    return;
  }
  const auto builtin = find_builtin(pair.key);
  const auto& keys = std::get<Pairs>(pair.value.data);
  if (const auto given = std::ranges::find(keys, "revisions", &Pair::key);
      builtin && given != keys.end())
    return draft.problems.add(given->at,
                              fmt::format("'factor.{}.revisions': a built-in factor cannot have "
                                          "revisions, so give your factor another name",
                                          pair.key));
  if (builtin)
    read_builtin_factor(pair, *builtin, draft);
  else
    read_user_factor(pair, commits, draft);
}

void refuse_shared_variables(Draft& draft) {
  std::map<std::string, std::string> owner;
  for (const auto& [at, factor] : draft.factors) {
    const auto* fixed = std::get_if<FixedLevels>(&factor.levels);
    if (factor.kind != FactorKind::user || fixed == nullptr || fixed->levels.empty()) continue;
    for (const auto& [name, value] : fixed->levels.front().variables) {
      const auto [first, is_new] = owner.emplace(name, factor.name);
      if (!is_new)
        draft.problems.add(
            at,
            fmt::format(
                "'factor.{}' sets {}, and so does 'factor.{}': only one factor may set a variable",
                factor.name, name, first->second));
    }
  }
}

void refuse_option(const Table& table, const Pair& pair) {
  const Words known = option_names();
  std::string hint = did_you_mean(pair.key, known);
  if (hint.empty()) hint = fmt::format(": the known keys are {}", fmt::join(known, ", "));
  table.problems().add(pair.at, fmt::format("unknown key '{}'{}", table.path(pair.key), hint));
}

}  // namespace

void read_factors(const Table& root, Draft& draft) {
  const std::size_t before = draft.problems.count();
  const Variables commits = commits_of(root, draft);
  if (const auto all = root.open_table("factor")) {
    if (all->pairs().size() > max_factors)
      draft.problems.add(root.find("factor")->at,
                         fmt::format("the plan has {} factors, but at most {} are allowed",
                                     all->pairs().size(), max_factors));
    else
      for (const Pair& pair : all->pairs()) read_factor(pair, *all, commits, draft);
  }
  refuse_shared_variables(draft);
  draft.factors_are_good = draft.problems.count() == before;
}

std::string normal_level(const Factor& factor, const std::string& written) {
  if (factor.kind != FactorKind::option) return written;
  const auto level = read_option(*find_option(factor.name), Value{.at = {}, .data = written});
  return level ? level->name : written;
}

void read_randomize(const Table& root, Draft& draft) {
  const auto table = root.open_table("randomize");
  if (!table) return;
  for (const Pair& pair : table->pairs()) {
    const RuntimeOption* option = find_option(pair.key);
    if (option == nullptr) {
      refuse_option(*table, pair);
    } else if (const auto level = read_option(*option, pair.value)) {
      draft.plan.randomize[pair.key] = *level;
      draft.randomize_at[pair.key] = pair.at;
    } else {
      table->refuse(pair, option_rule(*option));
    }
  }
}

}  // namespace stab::plan
