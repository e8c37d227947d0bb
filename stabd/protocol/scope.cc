// SPDX-License-Identifier: MIT
#include "stabd/protocol/scope.h"

#include <cstdlib>
#include <string_view>

namespace stab::protocol {
namespace {

constexpr const char* namespace_value = "pid-namespace";

}  // namespace

std::string scope_entry(machine::Scope scope) {
  const char* value = scope == machine::Scope::pid_namespace ? namespace_value : "process-tree";
  return std::string(scope_variable) + "=" + value;
}

machine::Scope scope_from_environment() {
  const char* value = std::getenv(scope_variable);
  const bool isolated = value != nullptr && std::string_view(value) == namespace_value;
  return isolated ? machine::Scope::pid_namespace : machine::Scope::process_tree;
}

std::string marker_entry(const std::string& token) {
  return std::string(marker_variable) + "=" + token;
}

std::string marker_from_environment() {
  const char* value = std::getenv(marker_variable);
  return value != nullptr ? marker_entry(value) : "";
}

}  // namespace stab::protocol
