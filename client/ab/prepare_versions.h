// SPDX-License-Identifier: MIT
// Turns the user's options into a comparison, and builds revisions, each in its own folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "client/ab/ab.h"
#include "client/ab/versions.h"

namespace stab::client::ab {

struct BuildOf {
  std::string command;  // for /bin/sh
  int stop_fd = -1;     // a signalfd; builds end when it becomes readable
  std::map<std::string, std::string> variables;
};

// Builds in the folder. All output of the build goes to the file `log`, and the error has its end.
Result<void> build_in(const std::string& folder, const std::string& log, const BuildOf& build);

struct BuildPlace {
  std::string name;  // the version's name
  std::string folder;
  std::string log;
};

// Builds in all places, as many at a time as this process has CPUs. A build that fails ends the
// builds after it in the list; the error is that of the first failed build in the list.
Result<void> build_all(const std::vector<BuildPlace>& places, const BuildOf& build);

// The folder in which revisions are built. Its destructor removes the folder unless it is kept.
class WorkFolder {
 public:
  explicit WorkFolder(bool kept) : kept_(kept) {}
  ~WorkFolder();
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  Result<void> make();
  void keep() { kept_ = true; }
  void let_go() { kept_ = false; }
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

// Builds revisions in their folders in `work`, several at a time. Does nothing if the versions are
// not revisions. The builds end when `stop_fd` becomes readable.
Result<void> build_versions(const AbOptions& options, const Comparison& comparison,
                            const WorkFolder& work, int stop_fd);

// The compiler that szc calls in these builds: "Debian clang version 19.1.7 (3)". "" if the
// versions are not revisions, or if szc can't tell.
std::string compiler_of_builds(const AbOptions& options, const Comparison& comparison, int stop_fd);

}  // namespace stab::client::ab
