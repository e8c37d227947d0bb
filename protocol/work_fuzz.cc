// SPDX-License-Identifier: MIT
// Messages from the daemon to its worker.
#include "protocol/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stab::protocol;
  check(decode<SetupVersion>(as_text(data, size)));
  check(decode_work(as_text(data, size)));
  return 0;
}
