// SPDX-License-Identifier: MIT
// The code of a program: what has to be adjusted in a copy, the labels inside of functions, and what
// makes functions or layouts stay. Each stage hands on a proof that it was run, which only it can
// make: so none comes too early.
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
  friend LabelsAreKnown analyse_labels(Program& program, const Decoder& decoder, CodeIsKnown code,
                                       const Pinning& pinning);
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
  friend SwitchesAreKnown analyse_switches(Program& program, const Decoder& decoder,
                                           LandingPadsAreKnown pads);
};

class PinsAreKnown {
  PinsAreKnown() = default;
  friend PinsAreKnown pin_dependents(Program& program, TablesAreKnown tables,
                                     SwitchesAreKnown switches, Pinning pinning);
};

// Turns every function's operands into fixups, checked against the relocations.
CodeIsKnown analyse_code(Program& program, FramesAreRead frames, const Pinning& pinning);

// Registers that hold jump tables' addresses and no other values of 64 bits.
void find_address_registers(Program& program, CodeIsKnown code);

// Pins functions with labels of whose names more is made than jumps, and functions whose bytes or range
// the program uses.
LabelsAreKnown analyse_labels(Program& program, const Decoder& decoder, CodeIsKnown code,
                              const Pinning& pinning);

// Functions' labels in data and jump tables.
TablesAreKnown analyse_data(Program& program, LabelsAreKnown labels, const Pinning& pinning);

// Takes the exception tables of what can move apart; landing pads become labels.
LandingPadsAreKnown analyse_exceptions(Program& program, CodeIsKnown code, const Pinning& pinning);

// Finds code that switches stacks.
SwitchesAreKnown analyse_switches(Program& program, const Decoder& decoder,
                                  LandingPadsAreKnown pads);

// A pinned function may jump into another one behind its entry, which then has to stay as it was.
// After this nothing is pinned any more: it takes the right to.
PinsAreKnown pin_dependents(Program& program, TablesAreKnown tables, SwitchesAreKnown switches,
                            Pinning pinning);

}  // namespace stab::instrumenter
