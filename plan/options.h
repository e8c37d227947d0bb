// SPDX-License-Identifier: MIT
// The options of the runtime that szc links into programs, as far as plans set them: as built-in
// factors, or as constants in [randomize].
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan.h"
#include "toml/value.h"

namespace stab::plan {

// A flag turns a randomization on or off. The others say how, and mean something only where one is
// on.
enum class OptionKind { flag, choice, milliseconds, share };

struct RuntimeOption {
  std::string_view name;
  OptionKind kind;
  bool on_by_default = false;                      // flags
  std::span<const std::string_view> choices = {};  // choices
  // What is no flag acts while one of these flags is on.
  std::span<const std::string_view> acts_with = {};
  // Programs that szc did not build can have it, too: by libstabheap.so.
  bool for_any_program = false;
};

// Nothing if a plan cannot set an option of that name.
const RuntimeOption* find_option(std::string_view name);
// Their names, in the order in which people see them.
std::vector<std::string> option_names();

// What the user wrote as a level; its name has one form only, as "500ms" for "0.5s". Nothing if it
// is none; option_rule() says what it must be.
std::optional<Level> read_option(const RuntimeOption& option, const toml::Value& value);
std::optional<Level> read_flag(const toml::Value& value);
std::string option_rule(const RuntimeOption& option);

// Names and values as the runtime reads them. The seed is in there if the plan has one.
using Options = Variables;
inline constexpr const char* seed_option = "seed";

// What a plan says of one treatment cell or trial: `levels` has one a factor, in the plan's order.
// With a layout factor there is one layout a run, and a period asks for repeated ones, unless the
// plan says otherwise.
Options options_of(const Plan& plan, const std::vector<Level>& levels);

// The options that make a difference: those that do not act are taken out. Cells that run the same
// have equal ones.
Options acting(Options options);
// Whether something is placed at random.
bool randomizes(const Options& options);
// What the plan says of the heap, which any program can have; nothing if it says nothing.
std::optional<bool> wants_heap(const Options& options);

// Whether the plan says anything about them; if not, programs do as they do by default.
bool sets_options(const Plan& plan);

}  // namespace stab::plan
