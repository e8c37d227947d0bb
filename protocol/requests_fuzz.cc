// SPDX-License-Identifier: MIT
// Messages from a client to the daemon.
#include "protocol/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stab::protocol;
  check(decode_request(as_text(data, size)));
  return 0;
}
