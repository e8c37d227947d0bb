// SPDX-License-Identifier: MIT
#include "base/output_mark.h"

#include <sys/xattr.h>

namespace stab {
namespace {

constexpr const char* name = "user.stabd.output";

}  // namespace

void mark_as_output(const std::string& path) {
  const int ignored = setxattr(path.c_str(), name, "1", 1, 0);
  static_cast<void>(ignored);
}

bool is_marked_as_output(const std::string& path) {
  return lgetxattr(path.c_str(), name, nullptr, 0) >= 0;
}

}  // namespace stab
