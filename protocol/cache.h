// SPDX-License-Identifier: MIT
// The folders where a worker stores builds and the users of builds find them.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "protocol/field.h"

namespace stab::protocol {

// The paths that ${OUT} and ${DIR} stand for in the trials of the build with this key.
inline std::string build_output(const std::string& cache, const std::string& key) {
  return cache + "/" + key + "/out";
}
inline std::string build_tree(const std::string& cache, const std::string& key) {
  return cache + "/" + key + "/tree";
}

// KEY/complete, the last file of a build.
struct Complete {
  std::string binary_sha256{};
  std::int64_t duration_ns = 0;
  std::optional<std::int64_t> cpu_ns{};  // absent in builds of earlier versions
};
BOOST_DESCRIBE_STRUCT(Complete, (), (binary_sha256, duration_ns, cpu_ns))
template <>
inline constexpr Field field<&Complete::cpu_ns>{.may_lack = true};

}  // namespace stab::protocol
