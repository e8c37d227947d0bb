// SPDX-License-Identifier: MIT

#include "client/foreign.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "plan/measures/google_benchmark.h"
#include "plan/plan.h"
#include "stats/data/dataset.h"

namespace stab::client::foreign {
namespace {

using nlohmann::json;

// Reads only the outermost names, and stops at the first one that identifies the tool.
class Outermost : public nlohmann::json_sax<json> {
 public:
  std::optional<Format> found;
  std::optional<std::size_t> broken;  // the byte at which the JSON is invalid

  bool null() override { return true; }
  bool boolean(bool /*truth*/) override { return true; }
  bool number_integer(std::int64_t /*number*/) override { return true; }
  bool number_unsigned(std::uint64_t /*number*/) override { return true; }
  bool number_float(double /*number*/, const std::string& /*text*/) override { return true; }
  bool string(std::string& /*text*/) override { return true; }
  bool binary(json::binary_t& /*bytes*/) override { return true; }
  bool start_object(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_object() override { return --depth_ >= 0; }
  bool start_array(std::size_t /*size*/) override { return ++depth_ > 0; }
  bool end_array() override { return --depth_ >= 0; }
  bool key(std::string& name) override {
    if (depth_ == 1 && name == "results") found = Format::hyperfine;
    // Google Benchmark writes the context first. The rest may hold NaN, which is not valid JSON, so
    // stop here.
    if (depth_ == 1 && (name == "benchmarks" || name == "context"))
      found = Format::google_benchmark;
    return !found;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    broken = position;
    return false;
  }

 private:
  int depth_ = 0;
};

}  // namespace

Result<Format> format_of(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos || text[start] != '{') return Format::csv;
  Outermost names;
  json::sax_parse(text, &names);
  if (names.found) return *names.found;
  if (names.broken)
    return wrong_call(
        fmt::format("the file begins like JSON, but the JSON is invalid at byte {}; if the file is "
                    "a table, use --input-format csv",
                    *names.broken));
  return wrong_call(
      "the file is JSON, but not from hyperfine (--export-json) or Google Benchmark "
      "(--benchmark_out_format=json)");
}

Result<Format> format_named(std::string_view name) {
  if (name == "csv") return Format::csv;
  if (name == "hyperfine") return Format::hyperfine;
  if (name == "google-benchmark") return Format::google_benchmark;
  return fail(fmt::format("'{}' is not a format: use csv, hyperfine or google-benchmark",
                          one_line(name, 40)));
}

Result<Measured> read_google_benchmark(std::string_view text, const std::string& response) {
  if (text.size() > most_bytes)
    return fail(fmt::format("it is larger than {}", format_bytes(most_bytes)));
  const std::string field = response.empty() ? "real_time" : response;
  plan::OutputMeasure measure;
  measure.name = field;
  measure.google_benchmark = field;
  // The number of samples needs no other bound than the size of the text.
  auto found = plan::google_benchmarks(measure, text, std::numeric_limits<std::size_t>::max() / 2);
  if (!found) return fail(found.error());
  Measured measured{
      .response = field,
      .unit = plan::is_google_time(field) ? stats::Unit::nanoseconds : stats::Unit::number,
      .host = std::move(found->host)};
  if (found->aggregates > 0)
    measured.notes.push_back(fmt::format(
        "Left out: {} rows that Google Benchmark computed from other rows.", found->aggregates));
  if (found->lacking > 0)
    measured.notes.push_back(
        fmt::format("Left out: {} rows without {}.", found->lacking, one_line(field, 60)));
  for (counters::Samples& each : found->samples)
    measured.all.push_back({.name = std::move(each.subject),
                            .values = std::move(each.values),
                            .failed = each.reason.empty() ? std::size_t{0} : std::size_t{1},
                            .reason = std::move(each.reason)});
  return measured;
}

namespace {

constexpr std::string_view how = "the file was not written by 'hyperfine --export-json FILE'";

// A list in the file with one value for each run.
struct Field {
  std::string_view response;
  const char* name;  // the list's name in the file
  double factor;
  stats::Unit unit;
};
constexpr std::array fields{
    Field{.response = "time", .name = "times", .factor = 1e9, .unit = stats::Unit::nanoseconds},
    Field{.response = "memory_usage_byte",
          .name = "memory_usage_byte",
          .factor = 1,
          .unit = stats::Unit::bytes}};

const json* list_of(const json& result, const char* name) {
  const auto found = result.find(name);
  return found != result.end() && found->is_array() ? &*found : nullptr;
}

Result<Field> field_of(const std::string& response) {
  if (response.empty()) return fields.front();
  const auto found = std::ranges::find(fields, response, &Field::response);
  if (found != fields.end()) return *found;
  return wrong_call(fmt::format(
      "hyperfine's files have no {} for individual runs: use --metric time or memory_usage_byte",
      one_line(response, 60)));
}

class HyperfineReader {
 public:
  explicit HyperfineReader(Field field) : field_(field) {}

  Result<Measured> read(const json& file) {
    const auto results = file.find("results");
    if (results == file.end() || !results->is_array())
      return fail(fmt::format("there is no list of results: {}", how));
    if (results->empty()) return fail("the file has no results: no command was measured");
    for (const json& result : *results)
      if (auto added = add(result); !added) return std::unexpected(added.error());
    measured_.response = field_.response;
    measured_.unit = field_.unit;
    if (unchecked_ > 0)
      measured_.notes.push_back(
          fmt::format("For {} of the commands, the file has no exit codes, so failed runs cannot "
                      "be recognized.",
                      unchecked_));
    return std::move(measured_);
  }

 private:
  Result<void> add(const json& result) {
    ++place_;
    if (!result.is_object()) return wrong("it is not an object");
    Runs runs;
    const auto command = result.find("command");
    if (command == result.end() || !command->is_string()) return wrong("it has no command");
    runs.name = command->get<std::string>();
    if (runs.name.empty()) return wrong("its command is empty");
    if (const int same = ++called_[runs.name]; same > 1)
      return fail(
          fmt::format("result {}: the command '{}' is also the command of another result; use "
                      "hyperfine's --command-name to tell them apart",
                      place_, one_line(runs.name, 80)));
    if (auto read = read_parameters(result, runs); !read) return read;
    if (auto read = read_values(result, runs); !read) return read;
    measured_.all.push_back(std::move(runs));
    return {};
  }

  Result<void> read_parameters(const json& result, Runs& runs) const {
    const auto parameters = result.find("parameters");
    if (parameters == result.end() || parameters->is_null()) return {};
    if (!parameters->is_object()) return wrong("'parameters' is not an object");
    for (const auto& [name, value] : parameters->items()) {
      if (name.empty() || value.is_structured())
        return wrong(
            fmt::format("the parameter '{}' needs a name and a plain value", one_line(name, 60)));
      std::string level = value.is_string() ? value.get<std::string>() : value.dump();
      runs.parameters.emplace_back(name, std::move(level));
    }
    return {};
  }

  Result<void> read_values(const json& result, Runs& runs) {
    const json* const values = list_of(result, field_.name);
    if (values == nullptr || values->empty())
      return fail(
          fmt::format("result {}: '{}' does not have a value for each run (a mean is not enough): "
                      "use a newer hyperfine with --export-json, or --metric time",
                      place_, field_.name));
    const json* const codes = list_of(result, "exit_codes");
    if (codes == nullptr)
      ++unchecked_;
    else if (codes->size() != values->size())
      return wrong(fmt::format("there are {} values of '{}', but {} exit codes", values->size(),
                               field_.name, codes->size()));
    // stabd's exports list the other exit codes that the plan accepts.
    const json* const accepted = list_of(result, "accepted_exit_codes");
    const auto is_good = [accepted](const json& code) {
      // A run that was ended by a signal has null instead of a code.
      if (!code.is_number_integer()) return false;
      return code == 0 || (accepted != nullptr &&
                           std::find(accepted->begin(), accepted->end(), code) != accepted->end());
    };
    for (std::size_t i = 0; i < values->size(); ++i) {
      const double value =
          (*values)[i].is_number() ? (*values)[i].get<double>() * field_.factor : -1;
      if (!std::isfinite(value) || value < 0)
        return wrong(
            fmt::format("value {} of '{}' is negative or not a number", i + 1, field_.name));
      if (codes != nullptr && !is_good((*codes)[i]))
        ++runs.failed;
      else
        runs.values.push_back(value);
    }
    if (runs.values.empty()) runs.reason = "all of its runs failed";
    return {};
  }

  [[nodiscard]] std::unexpected<Error> wrong(const std::string& what) const {
    return fail(fmt::format("result {}: {}: {}", place_, what, how));
  }

  Field field_;
  Measured measured_;
  std::size_t place_ = 0;  // the result's number, from 1
  std::size_t unchecked_ = 0;
  std::map<std::string, int> called_;
};

}  // namespace

Result<Measured> read_hyperfine(std::string_view text, const std::string& response) {
  if (text.size() > most_bytes)
    return fail(fmt::format("it is larger than {}", format_bytes(most_bytes)));
  const auto field = field_of(response);
  if (!field) return std::unexpected(field.error());
  try {
    const json file = json::parse(text);
    if (!file.is_object()) return fail(std::string(how));
    return HyperfineReader(*field).read(file);
  } catch (const json::parse_error& error) {
    return fail(fmt::format("the JSON is invalid at byte {}: {}", error.byte, how));
  } catch (const json::exception&) {
    return fail(fmt::format("a number in the file is too large: {}", how));
  }
}

namespace {

constexpr std::size_t longest = 80;  // longest name in messages

std::string shown(const std::string& name) {
  return "'" + one_line(name, longest) + "'";
}

// Lists the first few names, and says how many more there are.
std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t most = 5;
  std::vector<std::string> some;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) some.push_back(shown(names[i]));
  std::string text = fmt::format("{}", fmt::join(some, ", "));
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

// "old" of "runs/old.json".
std::string stem_of(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  for (const std::string_view end : {".json", ".csv"})
    if (name.size() > end.size() && name.ends_with(end)) name.resize(name.size() - end.size());
  return name == "-" ? "stdin" : name;
}

bool are_distinct(const std::vector<std::string>& names) {
  return std::set(names.begin(), names.end()).size() == names.size();
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts{""};
  for (const char c : text)
    if (c == ',')
      parts.emplace_back();
    else
      parts.back() += c;
  return parts;
}

class Builder {
 public:
  Builder(std::vector<Measured> files, const FileFactor& factor, const Wanted& wanted)
      : files_(std::move(files)),
        factor_(factor),
        wanted_(wanted),
        kind_(wanted.format == Format::hyperfine ? "command" : "benchmark") {}

  Result<Table> build() {
    for (std::size_t i = 0; i < files_.size(); ++i) look_at(i);
    auto made = require_own_name();
    if (made) made = wanted_.factors.empty() ? choose() : take_wanted();
    if (made) made = require_told_apart();
    if (made) made = fill();
    if (!made) return fail(made.error().message + gone_words());
    return std::move(table_);
  }

 private:
  [[nodiscard]] bool several() const { return files_.size() > 1; }
  [[nodiscard]] std::string of_file(std::size_t i) const {
    return several() ? fmt::format(" of {}", factor_.levels[i]) : "";
  }

  // "; 'a' is left out: all of its runs failed"
  [[nodiscard]] std::string gone_words() const {
    constexpr std::size_t most = 5;
    std::string text;
    for (std::size_t i = 0; i < std::min(most, gone_.size()); ++i) text += "; " + gone_[i];
    if (gone_.size() > most) text += fmt::format("; and {} more", gone_.size() - most);
    return text;
  }

  // Fails if the files' factor has the name of a column.
  Result<void> require_own_name() const {
    if (!several()) return {};
    bool taken = factor_.name == kind_;
    const std::vector<std::string>& wanted = wanted_.factors;
    if (std::ranges::find(wanted, factor_.name) != wanted.end() || wanted_.subject == factor_.name)
      for (const Measured& file : files_)
        for (const Runs& runs : file.all)
          for (const auto& [name, level] : runs.parameters) taken = taken || name == factor_.name;
    if (!taken) return {};
    return wrong_call(
        fmt::format("the factor that tells the files apart is named {}, but a column already has "
                    "this name: give the factor another name with --factor",
                    one_line(factor_.name, 60)));
  }

  // Collects the notes on a file, and drops results without values.
  void look_at(std::size_t i) {
    Measured& file = files_[i];
    for (std::string& note : file.notes)
      table_.notes.push_back(several() ? factor_.levels[i] + ": " + note : std::move(note));
    for (const Runs& runs : file.all) {
      if (runs.failed == 0) continue;
      table_.failed += runs.failed;
      if (runs.values.empty())
        gone_.push_back(
            fmt::format("{}{} is left out: {}", shown(runs.name), of_file(i), runs.reason));
      table_.notes.push_back(runs.values.empty()
                                 ? gone_.back()
                                 : fmt::format("{} of {} runs of {}{} failed and are left out.",
                                               runs.failed, runs.failed + runs.values.size(),
                                               shown(runs.name), of_file(i)));
    }
    std::erase_if(file.all, [](const Runs& runs) { return runs.values.empty(); });
  }

  Result<void> choose() {
    for (std::size_t i = 0; i < files_.size(); ++i)
      if (files_[i].all.empty()) return fail(fmt::format("nothing{} has values", of_file(i)));
    return several() ? choose_of_files() : choose_of_one();
  }

  Result<void> choose_of_files() {
    table_.treatments = {factor_.name};
    const auto one = [](const Measured& file) { return file.all.size() == 1; };
    if (std::ranges::all_of(files_, one)) {
      note_different_names();
      return {};
    }
    std::map<std::string, std::size_t> times;
    for (const Measured& file : files_)
      for (const Runs& runs : file.all) ++times[runs.name];
    std::vector<std::string> left;
    for (const auto& [name, count] : times)
      if (count < files_.size()) left.push_back(name);
    if (left.size() == times.size())
      return wrong_call(fmt::format(
          "the files have no {0} in common: a {0} is compared only if it has the same name in each "
          "file{1}",
          kind_, kind_ == "command" ? " (set it with hyperfine's --command-name)" : ""));
    if (!left.empty())
      table_.notes.push_back(
          fmt::format("The following {}s are left out, because a file lacks them or has no values "
                      "for them: {}.",
                      kind_, listed(left)));
    for (Measured& file : files_)
      std::erase_if(file.all, [&](const Runs& runs) { return times[runs.name] < files_.size(); });
    if (times.size() - left.size() > 1) table_.subject = kind_;
    return {};
  }

  void note_different_names() {
    std::vector<std::string> names;
    for (const Measured& file : files_) names.push_back(file.all.front().name);
    if (std::ranges::adjacent_find(names, std::not_equal_to<>()) != names.end())
      table_.notes.push_back(
          fmt::format("Each file has only one {0}, so the following {0}s are compared: {1}.", kind_,
                      listed(names)));
  }

  Result<void> choose_of_one() {
    const std::vector<Runs>& all = files_.front().all;
    if (all.size() < 2)
      return wrong_call(fmt::format(
          "only one {} has values, so there is nothing to compare: give another file as well",
          kind_));
    table_.treatments = parameters_that_tell_apart(all);
    if (table_.treatments.empty()) table_.treatments = {kind_};
    return {};
  }

  // The parameters with more than one level, if all results have the same parameters and no two
  // have the same levels; otherwise empty.
  static std::vector<std::string> parameters_that_tell_apart(const std::vector<Runs>& all) {
    std::map<std::string, std::set<std::string>> levels;
    std::set<std::vector<std::pair<std::string, std::string>>> combinations;
    for (const Runs& runs : all) {
      if (runs.parameters.size() != all.front().parameters.size()) return {};
      for (const auto& [name, level] : runs.parameters) levels[name].insert(level);
      combinations.insert(runs.parameters);
    }
    if (levels.size() != all.front().parameters.size() || combinations.size() != all.size())
      return {};
    std::vector<std::string> names;
    for (const auto& [name, its] : levels)
      if (its.size() > 1) names.push_back(name);
    return names;
  }

  Result<void> take_wanted() {
    table_.treatments = wanted_.factors;
    if (several() && std::ranges::find(table_.treatments, factor_.name) == table_.treatments.end())
      table_.treatments.push_back(factor_.name);
    table_.subject = wanted_.subject;
    std::set<std::string> known{kind_};
    if (several()) known.insert(factor_.name);
    for (const Measured& file : files_)
      for (const Runs& runs : file.all)
        for (const auto& [name, level] : runs.parameters) known.insert(name);
    for (const std::string& name : columns())
      if (!known.contains(name))
        return wrong_call(fmt::format("there is no column {}; the columns are {}", shown(name),
                                      listed({known.begin(), known.end()})));
    return {};
  }

  [[nodiscard]] std::vector<std::string> columns() const {
    std::vector<std::string> names = table_.treatments;
    if (!table_.subject.empty()) names.push_back(table_.subject);
    return names;
  }

  // If a parameter has the name of another column, that column counts.
  [[nodiscard]] std::optional<std::string> level(std::size_t file, const Runs& runs,
                                                 const std::string& column) const {
    if (several() && column == factor_.name) return factor_.levels[file];
    if (column == kind_) return runs.name;
    for (const auto& [name, value] : runs.parameters)
      if (name == column) return value;
    return std::nullopt;
  }

  Result<void> require_told_apart() {
    std::map<std::vector<std::string>, std::string> cells;
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (const Runs& runs : files_[i].all) {
        std::vector<std::string> cell;
        for (const std::string& column : columns()) {
          auto found = level(i, runs, column);
          if (!found)
            return fail(fmt::format("{}{} has no {}", shown(runs.name), of_file(i), shown(column)));
          cell.push_back(std::move(*found));
        }
        const auto [there, fresh] = cells.try_emplace(cell, runs.name);
        if (!fresh)
          return wrong_call(fmt::format(
              "--factors {} do not distinguish {} from {}: add the column that distinguishes them, "
              "or use --subject {}",
              fmt::join(table_.treatments, ","), shown(there->second), shown(runs.name), kind_));
      }
    return {};
  }

  Result<void> fill() {
    std::vector<std::map<std::string, std::uint32_t>> codes;
    for (const std::string& name : columns()) {
      table_.data.columns.push_back({.name = name});
      codes.emplace_back();
    }
    for (std::size_t i = 0; i < files_.size(); ++i)
      for (const Runs& runs : files_[i].all) {
        for (std::size_t c = 0; c < codes.size(); ++c) {
          stats::Column& column = table_.data.columns[c];
          const std::string text = *level(i, runs, column.name);
          const auto [code, fresh] =
              codes[c].try_emplace(text, static_cast<std::uint32_t>(column.levels.size()));
          if (fresh) column.levels.push_back(text);
          column.codes.insert(column.codes.end(), runs.values.size(), code->second);
        }
        table_.data.response.insert(table_.data.response.end(), runs.values.begin(),
                                    runs.values.end());
      }
    for (std::size_t c = 0; c < table_.treatments.size(); ++c)
      if (table_.data.columns[c].levels.size() < 2)
        return fail(
            fmt::format("{} has fewer than two levels with values, so there is nothing to compare",
                        shown(table_.data.columns[c].name)));
    return {};
  }

  std::vector<Measured> files_;
  const FileFactor& factor_;
  const Wanted& wanted_;
  std::string kind_;  // "command" or "benchmark"
  Table table_;
  std::vector<std::string> gone_;  // the results without values, and why
};

}  // namespace

Result<FileFactor> file_factor(const std::string& text, const std::vector<std::string>& files) {
  const std::size_t equals = text.find('=');
  FileFactor factor{.name = text.substr(0, equals)};
  if (text.empty()) factor.name = "file";
  if (factor.name.empty())
    return wrong_call("--factor " + shown(text) + ": give a name, for example version=old,new");
  if (equals != std::string::npos) {
    factor.levels = split(text.substr(equals + 1));
    if (factor.levels.size() != files.size() || !are_distinct(factor.levels) ||
        std::ranges::find(factor.levels, "") != factor.levels.end())
      return wrong_call(fmt::format("--factor {}: give {} different levels, one for each file",
                                    shown(text), files.size()));
    return factor;
  }
  for (const std::string& file : files) factor.levels.push_back(stem_of(file));
  if (!are_distinct(factor.levels)) factor.levels = files;
  if (!are_distinct(factor.levels))
    return fail("the same file is given twice, so there is nothing to compare");
  return factor;
}

Result<Table> table_of(std::vector<Measured> files, const FileFactor& factor,
                       const Wanted& wanted) {
  return Builder(std::move(files), factor, wanted).build();
}

stats::Dataset joined(std::vector<stats::Dataset> files, const FileFactor& factor) {
  stats::Dataset all;
  all.centre = files.front().centre;
  stats::Column file_column{.name = factor.name, .levels = factor.levels};
  for (std::size_t i = 0; i < files.size(); ++i) {
    // All numbers become distances from the first file's centre.
    for (const double value : files[i].response)
      all.response.push_back(value + (files[i].centre - all.centre));
    file_column.codes.resize(all.response.size(), static_cast<std::uint32_t>(i));
    for (stats::Lost trial : files[i].lost) {
      trial.codes.clear();
      all.lost.push_back(std::move(trial));
    }
    all.lists_lost = all.lists_lost || files[i].lists_lost;
  }
  for (std::size_t c = 0; c < files.front().columns.size(); ++c) {
    stats::Interner levels;
    stats::Column column{.name = files.front().columns[c].name};
    for (const stats::Dataset& file : files)
      for (const std::uint32_t code : file.columns[c].codes)
        column.codes.push_back(levels.code(file.columns[c].levels[code]));
    std::size_t next = 0;
    for (const stats::Dataset& file : files)
      for (const stats::Lost& trial : file.lost)
        all.lost[next++].codes.push_back(levels.code(file.columns[c].levels[trial.codes[c]]));
    std::vector<std::uint32_t> renumber;
    column.levels = levels.sorted(renumber, ',');
    for (std::uint32_t& code : column.codes) code = renumber[code];
    for (stats::Lost& trial : all.lost) trial.codes[c] = renumber[trial.codes[c]];
    all.columns.push_back(std::move(column));
  }
  all.columns.push_back(std::move(file_column));
  std::size_t next = 0;
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t n = 0; n < files[i].lost.size(); ++n)
      all.lost[next++].codes.push_back(static_cast<std::uint32_t>(i));
  return all;
}

}  // namespace stab::client::foreign
