// SPDX-License-Identifier: MIT
// From what the user said to what is compared.
#pragma once

#include <string>

#include "base/error.h"
#include "client/ab/ab.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

// Where revisions are built; gone with us unless it is to be kept.
class WorkFolder {
 public:
  explicit WorkFolder(bool kept) : kept_(kept) {}
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  Result<void> make();
  void keep() { kept_ = true; }
  // That of an interrupted run in place of this one, which goes.
  void adopt(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool kept_;
  std::string path_;
};

// Whether the path is such a folder, and it is there.
bool is_work_folder(const std::string& path);

// What can be seen to be wrong before anything is done.
Result<void> check_options(const AbOptions& options);

// Revisions are checked out by then, in `work`, and not built yet.
Result<Comparison> comparison_of(const AbOptions& options, const std::string& directory,
                                 WorkFolder& work);

// Builds revisions in their folders, several at a time; `work` stays if one cannot be built. Of what
// is no revision there is nothing to do. `stop_fd`: when it becomes readable the builds are ended.
Result<void> build_versions(const AbOptions& options, const Comparison& comparison,
                            WorkFolder& work, int stop_fd);

}  // namespace stab::client::ab
