// SPDX-License-Identifier: MIT
// fmt's own functions, for programs that are linked statically: Debian has fmt as a shared library
// only.
#include <fmt/format-inl.h>

namespace fmt::detail {
template thousands_sep_result<char> thousands_sep_impl<char>(locale_ref place);
template char decimal_point_impl<char>(locale_ref place);
template dragonbox::decimal_fp<float> dragonbox::to_decimal<float>(float number) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal<double>(double number) noexcept;
}  // namespace fmt::detail
