// SPDX-License-Identifier: MIT
// Messages from the worker to its daemon.
#include "protocol/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace stab::protocol;
  check(decode<SetupVersion>(as_text(data, size)));
  check(decode_work_reply(as_text(data, size)));
  return 0;
}
