// SPDX-License-Identifier: MIT
// Base64 (RFC 4648), for files inside messages.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace stab {

// The texts of several pieces can be concatenated if the sizes of all pieces but the last are
// multiples of three.
std::string to_base64(std::string_view bytes);
// Accepts only text that to_base64() can produce.
Result<std::string> from_base64(std::string_view text);

}  // namespace stab
