// SPDX-License-Identifier: MIT
// A target needs a source; see test_headers.h.
