// SPDX-License-Identifier: MIT
// Compiles fmt's formatting once for all files. cmake/product_headers.h declares it to them.
#include <fmt/format.h>

template void fmt::detail::vformat_to<char>(
    buffer<char>&, basic_string_view<char>,
    basic_format_args<FMT_BUFFER_CONTEXT(type_identity_t<char>)>, locale_ref);
