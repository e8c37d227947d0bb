// SPDX-License-Identifier: MIT
#include "stabd/client/plan_file.h"

#include <fmt/format.h>

#include <filesystem>

#include "base/fd.h"
#include "plan/reading/reader.h"
#include "stabd/revisions/of_plan.h"

namespace stab::client {

Result<PlanFile> read_plan_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(path, error)) return fail(fmt::format("there is no file {}", path));
  if (fs::is_directory(path, error))
    return fail(fmt::format("{} is a folder: name the plan's file", path));
  auto text = read_file(path, plan::max_plan_bytes);
  if (!text) return fail(fmt::format("{}; is it a plan?", text.error().message));
  const fs::path absolute = fs::canonical(path, error);
  if (error) return fail(fmt::format("cannot find {}: {}", path, error.message()));
  PlanFile file{path, absolute.parent_path().string(), ""};
  auto resolved = revisions::with_commits(*text, file.directory);
  if (!resolved) return fail(fmt::format("{}: {}", path, resolved.error().message));
  file.text = std::move(*resolved);
  return file;
}

}  // namespace stab::client
