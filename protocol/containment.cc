// SPDX-License-Identifier: MIT
#include "protocol/containment.h"

#include <cstdlib>
#include <string_view>

namespace stab::protocol {
namespace {

constexpr const char* namespace_value = "pid-namespace";

}  // namespace

std::string containment_variable(machine::Containment containment) {
  const char* value =
      containment == machine::Containment::pid_namespace ? namespace_value : "process-tree";
  return std::string(containment_name) + "=" + value;
}

machine::Containment containment_from_environment() {
  const char* value = std::getenv(containment_name);
  const bool isolated = value != nullptr && std::string_view(value) == namespace_value;
  return isolated ? machine::Containment::pid_namespace : machine::Containment::process_tree;
}

std::vector<std::string> worker_environment(machine::Containment containment,
                                            const std::string& token) {
  std::vector<std::string> environment{"PATH=/usr/bin:/bin", "LANG=C.UTF-8",
                                       containment_variable(containment)};
  if (containment == machine::Containment::process_tree)
    environment.push_back(marker_variable(token));
  return environment;
}

std::string marker_variable(const std::string& token) {
  return std::string(marker_name) + "=" + token;
}

std::string marker_from_environment() {
  const char* value = std::getenv(marker_name);
  return value != nullptr ? marker_variable(value) : "";
}

}  // namespace stab::protocol
