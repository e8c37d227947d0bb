// SPDX-License-Identifier: MIT
#include "stabd/client/ab/prepare.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "stabd/client/ab/revisions.h"
#include "stabd/client/output.h"
#include "stabd/paths.h"

namespace stab::client {
namespace {

namespace fs = std::filesystem;

Result<std::map<std::string, std::string>> environment_of(const std::vector<std::string>& given) {
  std::map<std::string, std::string> result;
  if (const char* path = std::getenv("PATH")) result["PATH"] = path;
  for (const std::string& each : given) {
    const auto equals = each.find('=');
    const std::string name = each.substr(0, equals);
    if (name.empty()) return fail(fmt::format("--env {}: a name is needed", one_line(each, 60)));
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
                                             const std::string& directory, WorkFolder& work) {
  const auto revisions = revisions_to_compare(options.words, directory);
  if (!revisions) return std::unexpected(revisions.error());
  const auto way = way_from_top(directory);
  if (!way) return std::unexpected(way.error());
  if (auto made = work.make(); !made) return std::unexpected(made.error());
  const auto copy = [&](std::size_t i) { return fmt::format("{}/{:03}", work.path(), i + 1); };
  auto versions = versions_of_revisions(
      *revisions, [&](std::size_t i) { return fmt::format("{}/{}", copy(i), *way); });
  if (!versions) return versions;
  BuildOf build{.command = options.build, .variables = comparison.env};
  const std::string szc = companion("szc");
  build.variables["PATH"] = szc.substr(0, szc.rfind('/')) + ":" + build.variables["PATH"];
  build.variables["CC"] = "szc";
  build.variables["CXX"] = "szc++";
  for (std::size_t i = 0; i < versions->size(); ++i)
    if (auto there = check_out(directory, {.folder = copy(i), .revision = (*revisions)[i]}); !there)
      return std::unexpected(there.error());
  // Before anything is built, or it would take over what the last one's build made.
  const std::string& last = versions->back().text;
  for (const auto& [name, folder] : *versions)
    if (folder != last)
      if (auto same = take_over(options.same, last, folder); !same)
        return std::unexpected(same.error());
  for (std::size_t i = versions->size(); i-- > 0;) {
    const auto& [name, folder] = (*versions)[i];
    tell("building " + name);
    if (auto built = build_in(folder, copy(i) + ".log", build); !built) {
      work.keep();
      return fail(name + " cannot be built: " + built.error().message);
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
  if (mkdtemp(path_.data()) != nullptr) return {};
  return fail_errno("cannot make a folder in " + std::exchange(path_, ""));
}

Result<void> check_options(const AbOptions& options) {
  if (!is_margin(options.margin))
    return fail(fmt::format("--margin {}: a percentage below 50 % is needed, as in 1%",
                            one_line(options.margin, 60)));
  const bool builds = !options.build.empty();
  if (builds && !options.programs.empty())
    return fail("--build is about revisions and --program about programs that are there");
  if (builds == options.run.empty())
    return fail("revisions need both: --build, how each is built, and --run, what is measured");
  if (!builds && !options.same.empty()) return fail("--same goes with --build");
  return {};
}

Result<Comparison> comparison_of(const AbOptions& options, const std::string& directory,
                                 WorkFolder& work) {
  Comparison result;
  result.kind = kind_of(options);
  auto env = environment_of(options.env);
  if (!env) return std::unexpected(env.error());
  result.env = std::move(*env);
  auto versions = result.kind == Kind::folders ? build_revisions(options, result, directory, work)
                  : result.kind == Kind::commands ? versions_of_commands(options.words)
                                                  : versions_of_programs(options.programs);
  if (!versions) return std::unexpected(versions.error());
  result.versions = std::move(*versions);
  if (result.kind == Kind::programs) result.arguments = options.words;
  result.command = options.run;
  result.margin = options.margin;
  result.seed = options.seed;
  result.heap = options.heap;
  result.control = options.control;
  return result;
}

}  // namespace stab::client
