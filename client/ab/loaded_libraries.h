// SPDX-License-Identifier: MIT
// Finds the shared libraries that a version's processes load. If the version's build made a library
// that they loaded from elsewhere, the measurement does not include the code of its own library.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "client/ab/versions.h"
#include "machine/measured_run.h"

namespace stab::client::ab {

// Looks at the memory maps of a run's processes every few milliseconds. The processes have the same
// environment as without it. It may miss a process that runs for less than 10 ms.
class LoadedLibraries {
 public:
  // Must outlive the launch's run.
  void watch(machine::Launch& launch);

  // The libraries that processes loaded from outside of the version's copy, although the copy has a
  // library of the same name with other bytes. Programs outside of the copy, such as interpreters,
  // count only if no program of the copy ran and no process loaded the copy's library. The shell
  // never counts.
  [[nodiscard]] std::vector<ForeignLibrary> foreign_to(const Version& version) const;

  // The paths of all libraries that processes loaded.
  [[nodiscard]] std::set<std::string> all() const;

 private:
  void look();
  void set_timer() const;

  Fd timer_;
  std::chrono::milliseconds pause_{0};
  std::map<std::string, std::set<std::string>> seen_;  // by program
};

// A clause for people that says what happened and what to do; "" if there is no such library.
// `versions` is the number of versions that were compared.
std::string said(const std::vector<ForeignLibrary>& libraries, std::size_t versions);

}  // namespace stab::client::ab
