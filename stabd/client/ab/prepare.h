// SPDX-License-Identifier: MIT
// From what the user said to what is compared.
#pragma once

#include <string>

#include "base/error.h"
#include "stabd/client/ab/ab.h"
#include "stabd/client/ab/versions.h"

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
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  bool kept_;
  std::string path_;
};

// What can be seen to be wrong before anything is done.
Result<void> check_options(const AbOptions& options);

// Revisions are built by then, in `work`, which stays if one cannot be. `stop_fd`: when it becomes
// readable the build that runs is ended.
Result<Comparison> comparison_of(const AbOptions& options, const std::string& directory,
                                 WorkFolder& work, int stop_fd);

}  // namespace stab::client::ab
