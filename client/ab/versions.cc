// SPDX-License-Identifier: MIT
#include "client/ab/versions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <set>

#include "base/text.h"
#include "counters/readings.h"
#include "machine/program.h"
#include "plan/measures/names.h"
#include "plan/reading/key_list.h"
#include "worker/runtime_report.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_name = 40;

// "./build-a/tool" becomes "build-a-tool".
std::string name_from(const std::string& text) {
  std::string name;
  for (const char c : text) {
    const bool taken = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '+';
    if (taken || (c == '.' && !name.empty()))
      name += c;
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  name.resize(std::min(name.size(), longest_name));
  while (!name.empty() && name.back() == '-') name.pop_back();
  return name.empty() ? "version" : name;
}

Result<std::vector<Version>> named(const std::vector<std::string>& texts) {
  if (texts.size() < 2)
    return fail(
        "name at least two versions, for example: stabctl ab -- 'sort -n numbers' 'sort -g "
        "numbers'; "
        "'stabctl ab --help' has more examples");
  std::set<std::string> known;
  std::vector<Version> versions;
  for (const std::string& text : texts) {
    const std::string stem = name_from(text);
    std::string name = stem;
    for (int i = 2; !known.insert(name).second; ++i) name = fmt::format("{}-{}", stem, i);
    versions.push_back({.name = name, .text = text, .said = text});
  }
  return versions;
}

// A text for a plan: quoted, and escaped so that no part of it is taken for a variable. In texts
// that cannot have variables, `dollar` is "$".
std::string quoted(const std::string& text, std::string_view dollar = "$$") {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (c == '$')
      result += dollar;
    else if (byte < 0x20 || byte == 0x7f)
      result += fmt::format("\\u{:04x}", byte);
    else
      result += c;
  }
  return result + "\"";
}

// Replaces the placeholder \x01 with the plan's variable.
void put_version(std::string& quoted_text) {
  constexpr std::string_view place = "\\u0001";
  quoted_text.replace(quoted_text.find(place), place.size(), "${VERSION}");
}

// The index of the version in the result of command_of().
std::size_t place_of_version(Kind kind) {
  return kind == Kind::programs ? 0 : kind == Kind::commands ? 3 : 4;
}

// Preloads the libraries only into what the shell starts, and only in trials whose options ask for
// a random heap, which plain trials don't. The shell's own heap does not matter, and a program that
// replaces the shell writes its own report.
std::string heap_line(const Comparison& comparison) {
  if (comparison.heap_preloads.empty()) return "";
  return fmt::format(
      "case ${} in *heap=1*) export LD_PRELOAD={}${{LD_PRELOAD:+:$LD_PRELOAD}} ;; esac\n",
      worker::options_variable, shell_quote(comparison.heap_preloads));
}

// The plan's table [stated], so that later reports give the same cost and the same reasons as the
// answer of `ab`.
std::string stated(const Comparison& comparison) {
  constexpr std::size_t longest = 400;
  std::string lines;
  const auto add = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) lines += fmt::format("{} = {}\n", key, quoted(one_line(text, longest), "$"));
  };
  add("compiler", comparison.compiler);
  if (runs_beside(comparison)) add("beside", comparison.versions.front().name);
  add("heap_cost", heap_remark(comparison));
  if (!comparison.heap) add("why_no_heap", comparison.why_no_heap);
  if (!comparison.pads) add("why_no_stack", comparison.why_no_pads);
  return lines.empty() ? "" : "\n[stated]\n" + lines;
}

std::string level(const std::string& name, const Version& version, std::size_t number) {
  return fmt::format("{} = {{ VERSION = {}, STABD_NUMBER = \"{:03}\" }}", quoted(name),
                     quoted(version.text), number);
}

}  // namespace

Result<std::vector<Version>> versions_of_programs(const std::vector<std::string>& paths) {
  auto versions = named(paths);
  if (!versions) return versions;
  std::size_t longest = 0;
  for (Version& version : *versions) {
    std::error_code error;
    const fs::path absolute = fs::absolute(version.text, error);
    if (!fs::is_regular_file(absolute, error) || access(absolute.c_str(), X_OK) != 0)
      return wrong_call(
          fmt::format("{} is not an executable file; to compare commands for the shell, leave out "
                      "--program and write the commands after --",
                      one_line(version.text, 500)));
    version.text = absolute.lexically_normal().string();
    longest = std::max(longest, version.text.size());
  }
  for (Version& version : *versions)
    version.text.insert(0, std::string(longest - version.text.size(), '/'));
  return versions;
}

Result<std::vector<Version>> versions_of_commands(const std::vector<std::string>& commands) {
  for (const std::string& command : commands) {
    if (command.starts_with('-'))
      return fail(fmt::format(
          "{} is an option, not a command: put each command into quotes, for example: stabctl ab "
          "-- 'sort -n numbers' 'sort -g numbers'",
          one_line(command, 100)));
    if (command.empty())
      return fail("one of the commands is empty; 'stabctl ab --help' has examples");
  }
  return named(commands);
}

Result<std::vector<Version>> versions_of_revisions(const std::vector<Revision>& revisions) {
  constexpr std::size_t digits = 8;  // of a commit's name
  std::vector<std::string> texts;
  for (const Revision& each : revisions) {
    const std::string commit = each.commit.substr(0, digits);
    if (each.commit.empty())
      texts.emplace_back("working-tree");
    else if (each.commit.starts_with(each.said))
      texts.push_back(commit);
    else
      texts.push_back(name_from(each.said).substr(0, longest_name - digits - 1) + "-" + commit);
  }
  auto versions = named(texts);
  if (!versions) return versions;
  for (std::size_t i = 0; i < versions->size(); ++i) {
    const Revision& revision = revisions[i];
    (*versions)[i].text = revision.folder;
    (*versions)[i].is_working_tree = revision.commit.empty();
    (*versions)[i].said = revision.commit.empty()
                              ? "the working tree with its uncommitted changes"
                              : fmt::format("{}, commit {}", revision.said, revision.commit);
  }
  return versions;
}

std::string heap_remark(const Comparison& comparison) {
  if (!comparison.heap) return "";
  const results::HeapChange& changes = comparison.heap_changes;
  std::string text;
  if (comparison.heap_cost && !changes.is_time)
    text = "costs " + results::said(*comparison.heap_cost);
  if (!changes.clause.empty())
    text +=
        fmt::format("{}changes what is measured: {}", text.empty() ? "" : "; it ", changes.clause);
  return text;
}

bool has_own_layouts(const Comparison& comparison) {
  if (comparison.heap || comparison.pads) return true;
  // Without the run that tries pads, nobody knows whether szc built the versions. That run gives a
  // reason only if it did.
  return comparison.wanted_pads == Pads::never ? comparison.kind == Kind::folders
                                               : !comparison.why_no_pads.empty();
}

std::string name_of_control(const Comparison& comparison) {
  std::string name = comparison.versions.front().name + "-again";
  const auto is_taken = [&](const Version& version) { return version.name == name; };
  while (std::ranges::any_of(comparison.versions, is_taken)) name += "+";
  return name;
}

std::vector<std::string> command_of(const Comparison& comparison, const Version& version) {
  const std::string line = heap_line(comparison);
  if (comparison.kind == Kind::commands) return {"/bin/sh", "-c", "--", line + version.text};
  if (comparison.kind == Kind::folders)
    return {"/bin/sh", "-c", "--", "cd \"$0\" || exit\n" + line + comparison.command, version.text};
  std::vector<std::string> command = {version.text};
  command.insert(command.end(), comparison.arguments.begin(), comparison.arguments.end());
  return command;
}

std::vector<std::string> words_in(const std::string& command) {
  constexpr std::string_view between = " \t\n'\"`|&;()<>$";
  std::vector<std::string> words;
  for (std::size_t at = 0; at < command.size();) {
    const std::size_t end = std::min(command.find_first_of(between, at), command.size());
    if (end > at) words.push_back(command.substr(at, end - at));
    at = end + 1;
  }
  return words;
}

std::map<std::string, std::string> programs_in(const Comparison& comparison,
                                               const std::string& command,
                                               const std::string& directory) {
  const auto given = comparison.env.find("PATH");
  const std::string path =
      given == comparison.env.end() ? machine::base_variables(geteuid()).at("PATH") : given->second;
  std::map<std::string, std::string> programs;
  for (const std::string& word : words_in(command))
    if (auto found = machine::find_program(word, {"PATH=" + path}, directory))
      programs[word] = *std::move(found);
  return programs;
}

std::string step_of(const Comparison& comparison, const std::string& folder,
                    const std::string& step) {
  return comparison.kind == Kind::folders ? fmt::format("cd '{}' || exit\n{}", folder, step) : step;
}

bool runs_beside(const Comparison& comparison) {
  return comparison.response == counters::relative_cpu;
}

bool is_response(std::string_view name) {
  return std::ranges::find(plan::words::responses, name) != plan::words::responses.end() ||
         name == plan::code_size || plan::region_of(name);
}

std::string plan_of(const Comparison& comparison) {
  const auto& versions = comparison.versions;
  std::string text;
  const auto out = std::back_inserter(text);
  std::vector<std::string> run;
  for (const std::string& word : command_of(comparison, {.name = "", .text = "\x01", .said = ""}))
    run.push_back(quoted(word));
  put_version(run[place_of_version(comparison.kind)]);
  fmt::format_to(out,
                 "# SPDX-License-Identifier: MIT\n"
                 "# Written by 'stabctl ab'; 'stabctl run' measures it again.\n"
                 "[experiment]\nname = {}\nseed = {}\n\n"
                 "[defaults]\nwarmup = 1\ntimeout = \"{}s\"\n",
                 quoted(fmt::format("{}-or-{}", versions[0].name, versions[1].name)),
                 comparison.seed,
                 std::chrono::ceil<std::chrono::seconds>(comparison.timeout).count());
  // The first rounds always run, so that no answer comes from fewer. The rule looks twice if there
  // are few more rounds, and often if there are many.
  constexpr std::uint64_t least_of_many = 30;
  const bool sequence = comparison.blocks > fewest_rounds;
  const int looks = comparison.blocks < least_of_many ? 2 : 20;
  if (!sequence) fmt::format_to(out, "repetitions = {}\n", comparison.blocks);
  fmt::format_to(out, "\n[[benchmark]]\nname = {}\nrun = [{}]\n",
                 comparison.kind == Kind::programs ? quoted(versions.front().name) : "\"command\"",
                 fmt::join(run, ", "));
  if (runs_beside(comparison)) {
    Comparison plain = comparison;
    plain.heap = false;
    plain.heap_preloads.clear();
    std::vector<std::string> beside;
    for (const std::string& word : command_of(plain, versions.front()))
      beside.push_back(quoted(word));
    fmt::format_to(out, "beside = [{}]\n", fmt::join(beside, ", "));
  }
  for (const auto& [key, step] :
       {std::pair{"prepare", comparison.prepare}, std::pair{"cleanup", comparison.cleanup}}) {
    if (step.empty()) continue;
    // The folder comes from the version's variable; the rest of the step is taken literally.
    std::string command = quoted(step_of(comparison, "\x01", step));
    if (comparison.kind == Kind::folders) put_version(command);
    fmt::format_to(out, "{} = {}\n", key, command);
  }
  if (!comparison.check.other_exits.empty())
    fmt::format_to(out, "check = {{ exit = [{}, {}] }}\n", comparison.check.exit,
                   fmt::join(comparison.check.other_exits, ", "));
  else if (comparison.check.exit != 0)
    fmt::format_to(out, "check = {{ exit = {} }}\n", comparison.check.exit);
  // This is all that differs between a version and its control. It always has the same length.
  fmt::format_to(out, "env.STABD_VERSION = \"${{STABD_NUMBER}}\"\n");
  for (const auto& [name, value] : comparison.env)
    fmt::format_to(out, "env.{} = {}\n", quoted(name), quoted(value));
  std::vector<std::string> levels;
  for (const Version& version : versions)
    levels.push_back(level(version.name, version, levels.size() + 1));
  if (comparison.control)
    levels.push_back(level(name_of_control(comparison), versions.front(), levels.size() + 1));
  fmt::format_to(out,
                 "\n[factor.version]\nlevels = {{ {} }}\n\n"
                 "[factor.env_bytes]\nrandom = {{ per = \"block\" }}\n\n"
                 "[machine]\naslr = true\n",
                 fmt::join(levels, ", "));
  if (!comparison.cpu.empty()) fmt::format_to(out, "cpu = [{}]\n", fmt::join(comparison.cpu, ", "));
  if (!is_response(comparison.response))
    fmt::format_to(out, "\n[measure]\ncounters = [{}]\n", quoted(comparison.response));
  fmt::format_to(out, "\n[design]\nkind = \"one-way\"\n");
  if (sequence && comparison.time.count() > 0)
    fmt::format_to(
        out, "time = \"{}ms\"\n",
        std::max(comparison.time, std::chrono::nanoseconds(std::chrono::milliseconds(1))) /
            std::chrono::milliseconds(1));
  if (sequence)
    fmt::format_to(out, "stop = {{ rule = \"sequential\", min = {}, max = {}, looks = {} }}\n",
                   fewest_rounds, comparison.blocks, looks);
  if (comparison.heap || comparison.pads)
    fmt::format_to(out, "\n[randomize]\n{}{}",
                   comparison.heap ? "heap = true\nallocator = \"layer\"\n" : "",
                   comparison.pads ? "stack = true\n" : "");
  text += stated(comparison);
  fmt::format_to(out, "\n[analysis]\nequivalence = {}\n", quoted(comparison.margin));
  if (comparison.response != plan::words::responses.front())
    fmt::format_to(out, "response = {}\n", quoted(comparison.response));
  if (comparison.control)
    fmt::format_to(out, "control = {}\n", quoted(name_of_control(comparison)));
  fmt::format_to(out, "cost = {}\n", comparison.cost);
  return text + comparison.machines;
}

}  // namespace stab::client::ab
