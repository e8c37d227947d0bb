// SPDX-License-Identifier: MIT
// Bytes as text (RFC 4648): for files in messages.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace stab {

// Pieces whose sizes are multiples of three can be put one behind the other.
std::string to_base64(std::string_view bytes);
// Only what to_base64() gives.
Result<std::string> from_base64(std::string_view text);

}  // namespace stab
