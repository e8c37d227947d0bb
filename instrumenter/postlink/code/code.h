// SPDX-License-Identifier: MIT
// Analyses a program's code: the fields that a copy has to adjust, the labels inside functions,
// and what makes functions or layouts stay. Each stage returns a proof that it has run, which only
// that stage can make, so no stage can run too early.
#pragma once

#include "instrumenter/postlink/program/program.h"

namespace stab::instrumenter {

class FramesAreRead {
  FramesAreRead() = default;
  friend FramesAreRead read_frames(Program& program, SymbolsAreSized sizes, const Pinning& pinning);
};

class CodeIsKnown {
  CodeIsKnown() = default;
  friend CodeIsKnown analyse_code(Program& program, FramesAreRead frames, const Pinning& pinning);
};

class LabelsAreKnown {
  LabelsAreKnown() = default;
  friend LabelsAreKnown analyse_labels(Program& program, CodeIsKnown code, const Pinning& pinning);
};

class TablesAreKnown {
  TablesAreKnown() = default;
  friend TablesAreKnown analyse_data(Program& program, LabelsAreKnown labels,
                                     const Pinning& pinning);
};

class LandingPadsAreKnown {
  LandingPadsAreKnown() = default;
  friend LandingPadsAreKnown analyse_exceptions(Program& program, CodeIsKnown code,
                                                const Pinning& pinning);
};

class SwitchesAreKnown {
  SwitchesAreKnown() = default;
  friend SwitchesAreKnown analyse_switches(Program& program, LandingPadsAreKnown pads);
};

class PinsAreKnown {
  PinsAreKnown() = default;
  friend PinsAreKnown pin_dependents(Program& program, TablesAreKnown tables,
                                     SwitchesAreKnown switches, Pinning pinning);
};

// Turns every function's operands into fixups and checks them against the relocations.
CodeIsKnown analyse_code(Program& program, FramesAreRead frames, const Pinning& pinning);

// Finds the registers of each function that hold jump tables' addresses and no other 64-bit
// values.
void find_address_registers(Program& program, CodeIsKnown code);

// Pins functions whose named labels are used for more than jumps, and functions whose bytes or
// range the program uses.
LabelsAreKnown analyse_labels(Program& program, CodeIsKnown code, const Pinning& pinning);

// Finds functions' labels in data, and jump tables.
TablesAreKnown analyse_data(Program& program, LabelsAreKnown labels, const Pinning& pinning);

// Takes apart the exception tables of functions that can move; their landing pads become labels.
LandingPadsAreKnown analyse_exceptions(Program& program, CodeIsKnown code, const Pinning& pinning);

// Finds code that switches stacks.
SwitchesAreKnown analyse_switches(Program& program, LandingPadsAreKnown pads);

// Pins functions that a pinned function jumps into behind their entry: they have to stay as they
// were linked. This consumes the right to pin, so nothing is pinned afterwards.
PinsAreKnown pin_dependents(Program& program, TablesAreKnown tables, SwitchesAreKnown switches,
                            Pinning pinning);

}  // namespace stab::instrumenter
