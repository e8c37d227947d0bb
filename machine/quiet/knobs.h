// SPDX-License-Identifier: MIT
// The settings of a machine that disturb measurements: their files, their quiet values and their
// effects. Each knob is a row of a table. One of them confines the machine's other processes to
// some CPUs.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "machine/topology.h"

namespace stab::machine {

// Confines the machine's other processes to some CPUs with a cpuset of cgroup v1. The cpuset's
// folder has all that is needed to release them, no matter which process made it.
//
// Kernel threads are not moved, nor are processes that are already in other cpusets or have bound
// themselves to some of those CPUs.
inline constexpr std::string_view everywhere = "everywhere";

// The CPUs to which the folder's processes are confined, or `everywhere` if the folder does not
// exist.
Result<std::string> confined_to(const std::string& folder);

// Whether the process is neither this process nor one of its descendants, and is not in its
// session.
bool is_other(pid_t process);

// Moves all processes that `whom` selects from the parent folder into this one, including those
// that start meanwhile. With `everywhere`, moves all of them back. Fails if a process can't be
// moved or has bound itself to other CPUs; then the processes that were moved are released.
Result<void> confine(const std::string& folder, const std::string& cpus,
                     const std::function<bool(pid_t)>& whom = is_other);

// The format in which a kernel file shows its value.
enum class Form {
  word,    // the value as text
  choice,  // all values, with the current one in brackets: "always [madvise] never"
  cpus,    // "0-3,8"; different spellings of the same CPUs are the same value
  within,  // the CPUs to which a cgroup is bound; empty means all CPUs, and fewer are quiet, too
  folder,  // a folder for processes that are confined to these CPUs (confine())
  held,    // a 4-byte number, valid only while the process that wrote it has the file open
};

struct KnobFiles {
  // A pattern of glob(7). {trial} stands for the number of a trial CPU, with one pattern for each
  // of them. {beside} stands for the cgroups of version 2 that are siblings of our own cgroup or of
  // one of its ancestors. Together these contain all processes outside of our cgroup's path,
  // however a service manager has arranged the tree.
  std::string_view pattern;
  // {others} stands for the CPUs that trials do not use.
  std::string_view quiet;
  Form form = Form::word;
  std::string_view as_good = "";  // other harmless values, separated by blanks
};

// How good a finding is for measurements.
enum class Grade { good, fair, poor };

struct Knob {
  std::string_view name;
  // CPU drivers keep a setting in different files. Only the files that exist count.
  std::array<KnobFiles, 2> files;
  bool standard;                 // changed unless a list of knobs is given
  bool moves_processes = false;  // only for experiments, and only for plans of administrators
  Grade loud;                    // the grade if the knob is not quiet
  Grade missing;                 // the grade if no file exists
  std::string_view needs;        // rights, a driver, or a kernel option
  std::string_view effect;       // the effect on measurements if it is not quiet
  std::string_view boot;         // the boot parameter that makes it quiet, or ""
};

// Whether only stabd can set the knob, for the duration of an experiment.
bool is_for_experiments(const Knob& knob);

// All knobs, in the order in which they are changed.
std::span<const Knob> knobs();
const Knob* find_knob(std::string_view name);  // null if unknown

// One file of a knob.
struct Setting {
  std::string file;   // path without the root
  std::string found;  // "" if it can't be read
  std::string quiet;
  Form form = Form::word;
  std::string as_good;
  std::string error;  // why it can't be read or set
  [[nodiscard]] bool is_quiet() const;
};

// Reads those files of the knob that exist, in the order of their names. `root` is a prefix for
// /proc and /sys, for tests.
std::vector<Setting> read_knob(const Knob& knob, const CpuChoice& cpus, const std::string& root);

// The row of the knob's files that matches this file; null if the file is not a setting of the
// knob.
const KnobFiles* files_of(std::string_view knob, std::string_view file);

// The files that match a pattern of glob(7), sorted by name, without the root.
std::vector<std::string> files_like(const std::string& pattern, const std::string& root);

// The value in the content of a file.
std::string value_in(std::string_view content, Form form);
Result<std::string> read_value(const std::string& path, Form form);
// Whether the file is gone because its cgroup was removed. For other forms a missing file is an
// error.
bool is_gone(const std::string& path, Form form);
// Whether the file is a setting of a CPU that is offline, which can't be read. A cpufreq policy has
// the number of its first CPU.
bool is_of_offline_cpu(std::string_view file, const std::string& root);
bool same_value(std::string_view a, std::string_view b, Form form);

}  // namespace stab::machine
