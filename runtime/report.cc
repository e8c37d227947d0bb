// SPDX-License-Identifier: MIT
#include "runtime/report.h"

#include "runtime/memory.h"
#include "runtime/os.h"

namespace stab::rt {
namespace {

constexpr size_t path_limit = 4096;

char path[path_limit];
int descriptor = -1;
os::FileIdentity descriptor_file;
bool wanted;
int owner;

bool is_number(const Text& text) {
  if (text.size == 0 || text.size > 6) return false;
  for (size_t i = 0; i < text.size; ++i)
    if (text.start[i] < '0' || text.start[i] > '9') return false;
  return true;
}

bool make_path(const Text& text) {
  size_t used = 0;
  if (text.start[0] != '/') {
    const long got = os::current_directory(path, path_limit / 2);
    if (os::failed(got) || got < 2) return false;
    used = static_cast<size_t>(got) - 1;
    path[used++] = '/';
  }
  if (used + text.size + 1 > path_limit) return false;
  copy_bytes(path + used, text.start, text.size);
  path[used + text.size] = '\0';
  return true;
}

// The file is open only while a line is written: the program's own descriptors keep their numbers.
void write_line(const Line& line) {
  if (!wanted || os::process_id() != owner) return;
  if (descriptor >= 0) {
    // The program may have closed it, and the number may be another file's by now.
    os::FileIdentity now = {};
    if (os::identify(descriptor, now) && now.device == descriptor_file.device &&
        now.inode == descriptor_file.inode)
      os::write_all(descriptor, line.data(), line.size());
    return;
  }
  const long fd = os::open_append(path);
  if (os::failed(fd)) return;
  os::write_all(static_cast<int>(fd), line.data(), line.size());
  os::close_file(static_cast<int>(fd));
}

void add_image(Line& line, const Image& image) {
  if (image.table == nullptr) return;
  line.field("functions", uint64_t{image.table->functions.count} + image.table->pinned.count);
  line.field("moved", image.moved());
  line.field("pinned", image.table->pinned.count);
  line.field("altered", image.altered);
  line.field("text_bytes", image.table->text_bytes);
  line.field("moved_bytes", image.moved_bytes);
  line.field("heap_bytes", image.moved() == 0 ? 0 : image.first().code_size);
  line.hex_field("image", reinterpret_cast<uint64_t>(image.base));
  line.hex_field("heap", image.moved() == 0 ? 0 : reinterpret_cast<uint64_t>(image.first().start));
  line.field("padded", image.padded_functions);
  line.field("setup_ns", image.setup_ns);
}

void add_outcome(Line& line, const char* problem) {
  line.field("randomized", problem == nullptr ? "yes" : "no");
  if (problem != nullptr) line.field("why", problem);
}

void add_epochs(Line& line, const EpochCounts& epochs) {
  line.field("epochs", epochs.layouts).field("given_up", epochs.given_up);
  if (epochs.why != nullptr) line.field("why_given_up", epochs.why);
  line.field("epochs_ns", epochs.total_ns).field("longest_pause_ns", epochs.longest_ns);
  line.field("frames_moved", epochs.frames_moved).field("layouts_kept", epochs.layouts_kept);
}

}  // namespace

void open_report(const Options& options) {
  const Text& text = options.report;
  owner = os::process_id();
  if (text.size == 0) return;
  if (is_number(text)) {
    descriptor = 0;
    for (size_t i = 0; i < text.size; ++i) descriptor = descriptor * 10 + (text.start[i] - '0');
    wanted = os::identify(descriptor, descriptor_file);
  } else {
    wanted = make_path(text);
  }
}

bool report_wanted() {
  return wanted && os::process_id() == owner;
}

void report_start(const Options& options, uint64_t seed, const Image* image, const char* problem,
                  const char* why_once, const char* small_stack) {
  const bool repeated = options.again() && problem == nullptr && why_once == nullptr;
  Line line;
  line.field("event", "start")
      .field("version", abi::version)
      .field("pid", static_cast<uint64_t>(owner));
  line.field("code", options.code ? "on" : "off")
      .field("stack", options.stack ? "on" : "off")
      .field("rerandomize", repeated ? "repeated" : "once")
      .field("seed", seed);
  if (repeated) line.field("period_ns", options.period);
  if (why_once != nullptr) line.field("why_once", why_once);
  if (small_stack != nullptr) line.field("small_stack", small_stack);
  add_outcome(line, problem);
  if (image != nullptr) add_image(line, *image);
  line.field("never_moved", "globals, libc and other libraries that szc did not link");
  write_line(line.close());
}

void report_image(const Image& image, const char* problem) {
  Line line;
  line.field("event", "library").field("pid", static_cast<uint64_t>(owner));
  add_outcome(line, problem);
  add_image(line, image);
  write_line(line.close());
}

void report_signal(int number, uint64_t pc, const Place& place) {
  Line line;
  line.field("event", "signal")
      .field("pid", static_cast<uint64_t>(owner))
      .field("signal", static_cast<uint64_t>(number));
  line.hex_field("pc", pc);
  const Image* image = place.image;
  const uint32_t f = image == nullptr ? no_copy : function_at(*image, *place.layout, pc);
  if (f != no_copy) {
    line.field("function", image->name(f));
    line.field("offset", pc - reinterpret_cast<uint64_t>(place.layout->copy(f)));
    line.hex_field("original", reinterpret_cast<uint64_t>(image->original(f)));
  }
  write_line(line.close());
}

void report_sandbox(const EpochCounts& epochs) {
  if (!report_wanted()) return;
  Line line;
  line.field("event", "sandbox").field("pid", static_cast<uint64_t>(owner));
  add_epochs(line, epochs);
  write_line(line.close());
  wanted = false;
}

void report_exit(uint64_t run_ns, uint64_t region_ns, uint64_t regions, const EpochCounts& epochs) {
  Line line;
  line.field("event", "exit").field("pid", static_cast<uint64_t>(owner)).field("run_ns", run_ns);
  line.field("region_ns", region_ns).field("regions", regions);
  add_epochs(line, epochs);
  write_line(line.close());
}

void complain(const char* what, const char* detail) {
  Line line;
  line.text("stabilizer: ").text(what).text(detail).text("\n");
  os::write_all(2, line.data(), line.size());
}

}  // namespace stab::rt
