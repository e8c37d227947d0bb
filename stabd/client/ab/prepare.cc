// SPDX-License-Identifier: MIT
#include "stabd/client/ab/prepare.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "stabd/client/ab/build.h"
#include "stabd/client/output.h"
#include "stabd/paths.h"
#include "stabd/revisions/revisions.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;

bool is_utf8(const std::string& text) {
  try {
    return !nlohmann::json(text).dump().empty();
  } catch (const nlohmann::json::type_error&) {
    return false;
  }
}

// Those that begin with STABD_ are ours.
bool is_variable(std::string_view name) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view digits = "0123456789";
  return !name.empty() &&
         name.find_first_not_of(std::string(letters) + std::string(digits)) ==
             std::string_view::npos &&
         !digits.contains(name.front()) && !name.starts_with("STABD_");
}

Result<std::map<std::string, std::string>> environment_of(const std::vector<std::string>& given) {
  std::map<std::string, std::string> result;
  if (const char* path = std::getenv("PATH")) result["PATH"] = path;
  for (const std::string& each : given) {
    const auto equals = each.find('=');
    const std::string name = each.substr(0, equals);
    if (!is_variable(name))
      return fail(
          fmt::format("--env {}: that is not a valid name of a variable that a version may have",
                      one_line(each, 60)));
    const char* ours = std::getenv(name.c_str());
    if (equals != std::string::npos)
      result[name] = each.substr(equals + 1);
    else if (ours != nullptr)
      result[name] = ours;
    else
      return fail(fmt::format("--env {}: there is no such variable", one_line(name, 60)));
  }
  return result;
}

bool is_margin(const std::string& text) {
  double percent = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, percent);
  return error == std::errc() && std::string_view(stop, end) == "%" && percent > 0 && percent < 50;
}

Kind kind_of(const AbOptions& options) {
  if (!options.build.empty()) return Kind::folders;
  return options.programs.empty() ? Kind::commands : Kind::programs;
}

// Where the user stands in the repository, the builds and runs stand in its copies.
Result<std::vector<Version>> build_revisions(const AbOptions& options, const Comparison& comparison,
                                             const std::string& directory, WorkFolder& work,
                                             int stop_fd) {
  const auto said_ones = revisions::revisions_to_compare(options.words, directory);
  if (!said_ones) return std::unexpected(said_ones.error());
  const auto way = revisions::way_from_top(directory);
  if (!way) return std::unexpected(way.error());
  if (auto made = work.make(); !made) return std::unexpected(made.error());
  const auto copy = [&](std::size_t i) { return fmt::format("{}/{:03}", work.path(), i + 1); };
  std::vector<Revision> all;
  for (const std::string& said : *said_ones) {
    const auto commit =
        said == revisions::working_tree ? "" : revisions::commit_of(directory, said);
    if (!commit) return std::unexpected(commit.error());
    all.push_back(
        {.said = said, .commit = *commit, .folder = fmt::format("{}/{}", copy(all.size()), *way)});
  }
  auto versions = versions_of_revisions(all);
  if (!versions) return versions;
  BuildOf build{.command = options.build, .stop_fd = stop_fd, .variables = comparison.env};
  const std::string szc = companion("szc");
  build.variables["PATH"] = szc.substr(0, szc.rfind('/')) + ":" + build.variables["PATH"];
  build.variables["CC"] = "szc";
  build.variables["CXX"] = "szc++";
  for (std::size_t i = 0; i < versions->size(); ++i)
    if (auto there =
            revisions::check_out(directory, {.folder = copy(i), .revision = (*said_ones)[i]});
        !there)
      return std::unexpected(there.error());
  // Before anything is built, or it would take over what the last one's build made.
  const std::string& last = versions->back().text;
  for (const Version& each : *versions)
    if (each.text != last)
      if (auto same = revisions::take_over(options.same, last, each.text); !same)
        return std::unexpected(same.error());
  for (std::size_t i = versions->size(); i-- > 0;) {
    const Version& version = (*versions)[i];
    tell("building " + version.name);
    if (auto built = build_in(version.text, copy(i) + ".log", build); !built) {
      work.keep();
      return fail(version.name + " cannot be built: " + built.error().message);
    }
  }
  return versions;
}

}  // namespace

WorkFolder::~WorkFolder() {
  std::error_code error;
  if (!kept_ && !path_.empty()) fs::remove_all(path_, error);
}

Result<void> WorkFolder::make() {
  std::error_code error;
  const std::string parent = fs::absolute(default_cache_directory()).string();
  fs::create_directories(parent, error);
  path_ = parent + "/ab-XXXXXX";
  if (path_.contains('\''))
    return fail(
        fmt::format("the cache's folder {} has a quotation mark in its name: set "
                    "XDG_CACHE_HOME to another one",
                    one_line(std::exchange(path_, ""), 200)));
  if (mkdtemp(path_.data()) != nullptr) return {};
  return fail_errno("cannot make a folder in " + std::exchange(path_, ""));
}

Result<void> check_options(const AbOptions& options) {
  if (!is_margin(options.margin))
    return fail(fmt::format("--margin {}: a percentage below 50 % is needed, as in 1%",
                            one_line(options.margin, 60)));
  for (const auto* texts : {&options.words, &options.programs, &options.env})
    for (const std::string& text : *texts)
      if (!is_utf8(text))
        return fail(fmt::format("{}: a plan, and so a version, is UTF-8", one_line(text, 100)));
  for (const auto& [name, text] :
       {std::pair{"--run", options.run}, std::pair{"--prepare", options.prepare},
        std::pair{"--cleanup", options.cleanup}})
    if (!is_utf8(text)) return fail(fmt::format("{}: a plan is UTF-8", name));
  if (std::error_code error; !options.save.empty() && fs::exists(options.save, error))
    return fail(fmt::format("--save: there is a file {} already", options.save));
  const bool builds = !options.build.empty();
  if (builds && !options.programs.empty())
    return fail("--build is about revisions and --program about programs that are there");
  if (builds == options.run.empty())
    return fail("revisions need both: --build, how each is built, and --run, what is measured");
  if (!builds && !options.same.empty()) return fail("--same goes with --build");
  return {};
}

Result<Comparison> comparison_of(const AbOptions& options, const std::string& directory,
                                 WorkFolder& work, int stop_fd) {
  Comparison result;
  result.kind = kind_of(options);
  auto env = environment_of(options.env);
  if (!env) return std::unexpected(env.error());
  result.env = std::move(*env);
  auto versions = result.kind == Kind::folders
                      ? build_revisions(options, result, directory, work, stop_fd)
                  : result.kind == Kind::commands ? versions_of_commands(options.words)
                                                  : versions_of_programs(options.programs);
  if (!versions) return std::unexpected(versions.error());
  result.versions = std::move(*versions);
  if (result.kind == Kind::programs) result.arguments = options.words;
  result.command = options.run;
  result.prepare = options.prepare;
  result.cleanup = options.cleanup;
  result.margin = options.margin;
  result.seed = options.seed;
  result.wanted_heap = options.heap;
  result.control = options.control;
  return result;
}

}  // namespace stab::client::ab
