// SPDX-License-Identifier: MIT
// Messages from the daemon to a client, and the file that carries calibrations.
#include "protocol/fuzz.h"

namespace {

using namespace stab::protocol;

template <class... Reply>
void check_replies(std::string_view line) {
  (check(decode_reply<Reply>(line)), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line = as_text(data, size);
  check_replies<HelloReply, VersionReply, SubmitReply, ListReply, StatusReply, WatchReply,
                CancelReply, ReportReply, ExportReply, ImportReply, CalibrationsReply, LearnReply>(
      line);
  check(decode<Progress>(line));
  if (const auto machines = from_text<std::vector<KnownMachine>>(line)) {
    const std::string text = to_text(*machines, 1);
    const auto again = from_text<std::vector<KnownMachine>>(text);
    require(again && to_text(*again, 1) == text);
  }
  return 0;
}
