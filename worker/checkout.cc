// SPDX-License-Identifier: MIT
#include "worker/checkout.h"

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "plan/plan.h"
#include "revisions/revisions.h"

namespace stab::worker {
namespace {

namespace fs = std::filesystem;

struct Draft {
  std::string path;
  ~Draft() {
    std::error_code ignored;
    if (!path.empty()) fs::remove_all(path, ignored);
  }
};

}  // namespace

Result<Sources> take_revision(const RevisionOf& from, const std::vector<std::string>& names,
                              const std::string& cache, const machine::Launch& how) {
  if (!plan::is_resolved(from.revision))
    return fail(fmt::format("'{}' is not the full name of a commit", from.revision));
  std::error_code error;
  fs::create_directories(cache, error);
  std::string folder = cache + "/draft-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return fail_errno("cannot create " + folder);
  const Draft draft{folder};
  revisions::Repository repository(from.directory);
  repository.how = how;
  const auto way = revisions::way_from_top(repository);
  if (!way) return std::unexpected(way.error());
  const std::string tree = folder + "/tree";
  if (auto there = revisions::check_out(repository, {.folder = tree, .revision = from.revision});
      !there)
    return std::unexpected(there.error());
  if (!fs::is_directory(tree + "/" + *way, error))
    return fail(fmt::format("the revision {} has no folder {}", from.revision, *way));
  return take_sources(tree + "/" + *way, names, cache);
}

}  // namespace stab::worker
