// SPDX-License-Identifier: MIT
// The folders in which a worker leaves builds, and their users find them.
#pragma once

#include <string>

namespace stab::protocol {

// What ${OUT} and ${DIR} stand for in the trials of the build with this key.
inline std::string build_output(const std::string& cache, const std::string& key) {
  return cache + "/" + key + "/out";
}
inline std::string build_tree(const std::string& cache, const std::string& key) {
  return cache + "/" + key + "/tree";
}

}  // namespace stab::protocol
