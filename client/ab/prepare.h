// SPDX-License-Identifier: MIT
// Turns the user's options into a comparison.
#pragma once

#include <string>

#include "base/error.h"
#include "client/ab/ab.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

// The folder in which revisions are built. Its destructor removes the folder unless it is kept.
class WorkFolder {
 public:
  explicit WorkFolder(bool kept) : kept_(kept) {}
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  Result<void> make();
  void keep() { kept_ = true; }
  // Takes over the folder of an interrupted run, and removes the current one.
  void adopt(std::string path);
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool kept_;
  std::string path_;
};

// Whether the path names an existing work folder.
bool is_work_folder(const std::string& path);

// Fails if the options are wrong in a way that can be seen before anything is done.
Result<void> check_options(const AbOptions& options);

// Checks revisions out in `work`, but does not build them.
Result<Comparison> comparison_of(const AbOptions& options, const std::string& directory,
                                 WorkFolder& work);

// Builds revisions in their folders, several at a time, and keeps `work` if a build fails. Does
// nothing if the versions are not revisions. The builds end when `stop_fd` becomes readable.
Result<void> build_versions(const AbOptions& options, const Comparison& comparison,
                            WorkFolder& work, int stop_fd);

}  // namespace stab::client::ab
