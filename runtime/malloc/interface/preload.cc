// SPDX-License-Identifier: MIT
// The start and the end of libstabheap.so. LD_PRELOAD loads it into programs that szc did not link.
// In a program that szc linked it is idle, because the executable's malloc precedes its own.
#include "runtime/abi/abi.h"
#include "runtime/base/options.h"
#include "runtime/base/os.h"
#include "runtime/base/output_files.h"
#include "runtime/malloc/allocators/system.h"
#include "runtime/malloc/interface/heap.h"

extern "C" __attribute__((weak)) void stab_add_image();

// A program that szc linked finds our malloc where it looks for libc's, and asks this function
// which allocator comes after it.
extern "C" __attribute__((visibility("default"))) const char* stab_other_heap() {
  return stab::heap::file_of_other_heap();
}

namespace stab::heap {

constexpr bool heap_by_default = true;

namespace {

constexpr int refusal_status = 125;
uint64_t began;

void print(const char* line, size_t size) {
  os::write_all(1, line, size);
}

bool report_start(const rt::Options& options) {
  rt::Line line;
  line.field("event", "start").field("version", abi::version);
  line.field("pid", rt::report_owner()).field("code", "off").field("rerandomize", "once");
  line.field("seed", is_heap_on() ? rt::run_seed(options) : 0);
  add_start(line, options);
  line.field("randomized", is_heap_on() ? "yes" : "no");
  if (!is_heap_on()) line.field("why", options.heap ? heap_problem() : "heap=0");
  return rt::write_line(line.close());
}

__attribute__((constructor)) void begin() {
  if (stab_add_image != nullptr) return;
  rt::Line complaints;
  const rt::Options options = heap_options(complaints);
  if (options.help) {
    rt::describe_options(print);
    os::exit_process(0);
  }
  if (complaints.size() != 0) rt::complain("STABILIZER_OPTIONS: ", complaints.c_string());
  chosen();
  if (options.strict && (complaints.size() != 0 || heap_problem() != nullptr)) {
    if (heap_problem() != nullptr) rt::complain("not randomized, and strict=1: ", heap_problem());
    os::exit_process(refusal_status);
  }
  rt::open_report(options);
  const bool begun = rt::report_wanted() && report_start(options);
  if (!begun && options.report.size != 0) {
    if (options.strict || options.verbose != 0) rt::complain_about_report(options);
    if (options.strict) os::exit_process(refusal_status);
  }
  if (rt::report_wanted()) began = os::monotonic_ns();
}

__attribute__((destructor)) void end() {
  if (began == 0 || !rt::report_wanted()) return;
  rt::Line line;
  line.field("event", "exit").field("pid", rt::report_owner());
  line.field("run_ns", os::monotonic_ns() - began).field("region_ns", uint64_t{0});
  line.field("regions", uint64_t{0}).field("epochs", uint64_t{1});
  add_counts(line);
  rt::write_line(line.close());
}

}  // namespace
}  // namespace stab::heap
