// SPDX-License-Identifier: MIT
// The post-link step learns from a linked binary what the runtime must know to move its functions,
// and writes that into the binary. lld must have linked the binary with the flags of
// instrumenter/link_flags.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace stab::instrumenter {

struct Options {
  bool strip_all = false;       // like a linker's -s
  bool strip_debug = false;     // like a linker's -S
  bool pads_for_others = true;  // for frames of functions that szc's pass has not seen
};

struct Summary {
  std::uint64_t functions = 0;
  std::uint64_t movable_functions = 0;
  std::uint64_t text_bytes = 0;
  std::uint64_t movable_bytes = 0;
  std::uint64_t table_bytes = 0;
  std::uint64_t large_functions = 0;  // compiled with -mcmodel=large, so they cannot move
  // The names of the code's bounds that the program uses, such as etext: it may read code there.
  std::vector<std::string> code_bounds;
};

// Replaces the file in one step and keeps its mode. After an error, the file is as it was. The
// emitted relocations are removed, as nobody needs them any more. A function whose code is not
// completely understood is pinned, never guessed.
Result<Summary> instrument(const std::string& binary_path, const Options& options);

struct ExplainedFunction {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::string pinned;       // why it cannot move; empty if it moves
  std::string fixed_frame;  // why its frame has one size; empty if it has pads
  std::uint32_t largest_pad = 0;
  bool is_part = false;  // of another function, whose frame it uses, with the same pad
};

// Code that makes the runtime keep all layouts of a run.
struct ExplainedKeeper {
  std::string name;
  std::uint64_t address = 0;
  std::string reason;
};

struct Explanation {
  std::string path;
  std::uint64_t text_bytes = 0;
  std::uint64_t movable_bytes = 0;
  std::uint64_t framed = 0;   // functions that move and change the stack pointer
  std::uint64_t padded = 0;   // those of them whose frames have pads
  bool small_stacks = false;  // it may run on small stacks, so pads are small
  std::vector<ExplainedKeeper> keepers;
  std::vector<ExplainedFunction> functions;  // sorted by address
};

// Reads the explanation from an instrumented binary, stripped or not.
Result<Explanation> explain(const std::string& path);

std::string to_text(const Explanation& explanation);
std::string to_json(const Explanation& explanation);

}  // namespace stab::instrumenter
