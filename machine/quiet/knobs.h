// SPDX-License-Identifier: MIT
// The settings of a machine that disturb measurements: where each is, what is quiet, and what it does. A row a knob.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/topology.h"

namespace stab::machine {

// How a file of the kernel shows its value.
enum class Form {
  word,    // as it is written
  choice,  // all values, with the one in force in brackets: "always [madvise] never"
  cpus,    // "0-3,8": two spellings of the same CPUs are the same value
  within,  // such a list to which something is bound: none is all CPUs, and fewer are as quiet
  folder,  // of processes that are confined to these CPUs (confinement.h)
  held,    // a number of four bytes, in force only while whoever wrote it has the file open
};

struct KnobFiles {
  // As in glob(7). {trial} stands for the number of a CPU for trials: one pattern for each of them.
  // {beside} stands for the cgroups of version 2 that have the same parent as ours or as one above
  // ours: together all but those, whatever a service manager has made of the tree.
  std::string_view pattern;
  // {others} stands for the CPUs that trials do not use.
  std::string_view quiet;
  Form form = Form::word;
  std::string_view as_good = "";  // other values that disturb nothing, with blanks between
};

// What a finding means to a measurement.
enum class Grade { good, fair, poor };

struct Knob {
  std::string_view name;
  // The drivers of CPUs differ in where they keep a setting: of these files those count that are there.
  std::array<KnobFiles, 2> files;
  bool standard;                 // changed unless a list says otherwise
  bool moves_processes = false;  // only for experiments, and only for plans of administrators
  Grade loud;                    // what it means where it is not quiet
  Grade missing;                 // what it means where no file is there
  std::string_view needs;        // rights; a driver, an option of the kernel
  std::string_view effect;       // what it does to a measurement where it is not quiet
  std::string_view boot;         // what makes it so from boot on; "" if nothing does
};

// Only stabd has such knobs, for as long as an experiment runs.
bool is_for_experiments(const Knob& knob);

// In the order in which they are changed.
std::span<const Knob> knobs();
// As doc/operations.md has them: what each is set to, needs and does, with a row a knob.
std::string table_of_knobs();
const Knob* find_knob(std::string_view name);  // null if there is none

// One file of a knob.
struct Setting {
  std::string file;   // without the root
  std::string found;  // "" if it cannot be read
  std::string quiet;
  Form form = Form::word;
  std::string as_good;
  std::string error;  // why it cannot be read
  [[nodiscard]] bool is_quiet() const;
};

// The knob's files that are there, in the order of their names. `root` stands before /proc and /sys, for tests.
std::vector<Setting> read_knob(const Knob& knob, const CpuChoice& cpus, const std::string& root);

// Those files of the knob that this one is among; null for any other file, which is no setting of ours.
const KnobFiles* files_of(std::string_view knob, std::string_view file);

// Files that a pattern of glob(7) names, in the order of their names, without the root.
std::vector<std::string> files_like(const std::string& pattern, const std::string& root);

// The value of a file with this content.
std::string value_in(std::string_view content, Form form);
Result<std::string> read_value(const std::string& path, Form form);
// A group of processes may end, and its settings with it; what other settings are is not known then.
bool is_gone(const std::string& path, Form form);
bool same_value(std::string_view a, std::string_view b, Form form);

}  // namespace stab::machine
