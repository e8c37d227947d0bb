// SPDX-License-Identifier: MIT
// Headers that most of the product includes; the compiler reads them once (targets.cmake).
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// All of fmt's formatting follows from this function. Without this line each file that appends to a
// text, or logs, would compile it once more; base/formatting.cc has it.
extern template void fmt::detail::vformat_to<char>(
    buffer<char>&, basic_string_view<char>,
    basic_format_args<FMT_BUFFER_CONTEXT(type_identity_t<char>)>, locale_ref);
