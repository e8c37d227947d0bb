// SPDX-License-Identifier: MIT
// The options of the runtime that szc links into programs, as far as plans can set them: as
// built-in factors, or as constants in [randomize].
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "toml/value.h"

namespace stab::plan {

// A flag turns a randomization on or off. The other kinds say how to randomize, and matter only
// where a flag is on.
enum class OptionKind { flag, choice, milliseconds, share };

struct RuntimeOption {
  std::string_view name;
  OptionKind kind;
  bool on_by_default = false;                      // flags
  std::span<const std::string_view> choices = {};  // choices
  // An option that is not a flag acts while one of these flags is on.
  std::span<const std::string_view> acts_with = {};
  // Programs that szc did not build can have this option, too, through libstabheap.so.
  bool for_any_program = false;
};

// Returns a null pointer if a plan cannot set an option with that name.
const RuntimeOption* find_option(std::string_view name);
// Their names, in the order in which messages list them.
std::vector<std::string> option_names();

// Reads a level as the user wrote it. Its name has one normal form, such as "500ms" for "0.5s".
// Returns nothing if the value is not a valid level; option_rule() describes the valid ones.
std::optional<Level> read_option(const RuntimeOption& option, const toml::Value& value);
std::optional<Level> read_flag(const toml::Value& value);
inline constexpr std::string_view flag_rule = "true or false";
std::string option_rule(const RuntimeOption& option);

// Names and values as the runtime reads them, including the seed if the plan has one.
using Options = Variables;
inline constexpr const char* seed_option = "seed";

// The options of one treatment cell or trial. `levels` has a level for each factor, in the plan's
// order. With a layout factor each run has one layout, and a period asks for repeated ones, unless
// the plan says otherwise.
Options options_of(const Plan& plan, const std::vector<Level>& levels);

// The options that make a difference: options that do not act are removed. Cells that run the same
// have equal options.
Options acting(Options options);
// Whether anything is placed at random.
bool randomizes(const Options& options);
// Whether the functions of a program that szc built move again while it runs.
bool moves_functions_again(const Options& options);
// Whether the plan wants a random heap, which any program can have. Nothing if it does not say.
std::optional<bool> wants_heap(const Options& options);

// The options of a program without random layouts. They leave out options that any program can
// have, because these options bring a library into the program, even to turn something off.
Options plain_options();

// Whether the plan sets any option. If it does not, programs use their defaults.
bool sets_options(const Plan& plan);

}  // namespace stab::plan
