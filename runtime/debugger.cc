// SPDX-License-Identifier: MIT
#include "runtime/debugger.h"

#include "runtime/os.h"

namespace stab::rt {
namespace {

// Start and size in hexadecimal without 0x, and the name.
void write_perf_map(const Image& image) {
  Line path;
  path.text("/tmp/perf-").number(static_cast<uint64_t>(os::process_id())).text(".map");
  const long fd = os::open_append(path.c_string());
  if (os::failed(fd)) return;
  for (uint32_t rank = 0; rank < image.moved; ++rank) {
    const uint32_t f = image.order[rank];
    Line line;
    line.hex(reinterpret_cast<uint64_t>(image.copy(f))).text(" ").hex(image.functions()[f].size);
    line.text(" ").text(image.name(f)).text("\n");
    os::write_all(static_cast<int>(fd), line.data(), line.size());
  }
  os::close_file(static_cast<int>(fd));
}

}  // namespace

void introduce_to_debuggers(const Image& image, const Options& options) {
  if (options.perf_map) write_perf_map(image);
}

}  // namespace stab::rt
