// SPDX-License-Identifier: MIT
// A target needs a source; see product_headers.h and test_headers.h.
