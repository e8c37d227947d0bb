// SPDX-License-Identifier: MIT
#include "runtime/base/output_files.h"

#include "runtime/base/check.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

places::Head* file;

void end_file(uint64_t time_ns) {
  uint64_t none = 0;
  __atomic_compare_exchange_n(&file->ended_ns, &none, time_ns, false, __ATOMIC_ACQ_REL,
                              __ATOMIC_ACQUIRE);
}

}  // namespace

void open_places(const Options& options) {
  constexpr size_t path_limit = 4096;
  static char path[path_limit];
  if (options.places.size == 0 || options.places.size >= path_limit) return;
  copy_bytes(path, options.places.start, options.places.size);
  uint64_t size = 0;
  const long memory = os::map_shared(path, size);
  if (os::failed(memory)) return;
  auto* head = reinterpret_cast<places::Head*>(memory);
  if (size >= sizeof *head && head->magic == places::magic && head->size == size)
    file = head;
  else
    os::unmap(static_cast<uint64_t>(memory), size);
}

bool places_wanted() {
  return file != nullptr;
}

// Other processes, children of fork, write into the same file.
places::Record* take_record(uint64_t item_bytes, uint64_t time_ns) {
  const uint64_t size = align_up(sizeof(places::Record) + item_bytes, places::alignment);
  uint64_t at = __atomic_load_n(&file->used, __ATOMIC_RELAXED);
  do {
    const bool fits = at % places::alignment == 0 && at >= sizeof *file && at <= file->size &&
                      size <= file->size - at && size <= UINT32_MAX;
    if (__atomic_load_n(&file->ended_ns, __ATOMIC_ACQUIRE) != 0 || !fits) {
      end_file(time_ns);
      return nullptr;
    }
  } while (!__atomic_compare_exchange_n(&file->used, &at, at + size, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_RELAXED));
  auto* record = reinterpret_cast<places::Record*>(reinterpret_cast<uint8_t*>(file) + at);
  STAB_DEBUG(Places, 1,
             address_of(record) % places::alignment == 0 && record->kind == places::nothing);
  __atomic_store_n(&record->size, static_cast<uint32_t>(size), __ATOMIC_RELEASE);
  record->process = static_cast<uint32_t>(os::process_id());
  record->time_ns = time_ns;
  return record;
}

void give_kind(places::Record* record, places::Kind kind) {
  __atomic_store_n(&record->kind, static_cast<uint32_t>(kind), __ATOMIC_RELEASE);
}

namespace {

constexpr size_t path_limit = 4096;

char path[path_limit];
int descriptor = -1;
// The kind of the descriptor at start, or of the path at the first line, which is written before main. Later
// the program may have forbidden the system call.
os::FileIdentity report_file;
bool path_was_asked;
bool wanted;
bool ended;
int owner;
int forked;  // a child of the owner or of another such child

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

// Opens an existing file, or else creates it, or else opens one that another process has just
// created, or the target of a link that nobody else can have planted.
long open_path() {
  long fd = os::open_append(path);
  if (os::failed(fd)) fd = os::open_new(path);
  if (os::failed(fd)) fd = os::open_append_linked(path);
  return fd;
}

// `to` tells whether the descriptor is a pipe or a socket.
bool write_to(int fd, const os::FileIdentity& to, const Line& line) {
  return to.is_pipe_or_socket ? os::write_all_without_signal(fd, line.data(), line.size())
                              : os::write_all(fd, line.data(), line.size());
}

}  // namespace

void open_report(const Options& options) {
  const Text& text = options.report;
  owner = os::process_id();
  if (text.size == 0) return;
  if (is_number(text)) {
    descriptor = 0;
    for (size_t i = 0; i < text.size; ++i) descriptor = descriptor * 10 + (text.start[i] - '0');
    wanted = os::identify(descriptor, report_file);
  } else {
    wanted = make_path(text);
  }
}

bool report_wanted() {
  return wanted && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE) && os::process_id() == owner;
}

bool report_wanted_by_child() {
  return wanted && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE) && forked == os::process_id();
}

// After the last line the program may have forbidden system calls.
void note_fork() {
  if (wanted && !__atomic_load_n(&ended, __ATOMIC_ACQUIRE)) forked = os::process_id();
}

// The file is open only while a line is written, so that the program's own descriptors keep their
// numbers.
bool write_line(const Line& line) {
  if (!wanted || (os::process_id() != owner && os::process_id() != forked)) return false;
  if (descriptor >= 0) {
    // The program may have closed it, and the number may belong to another file now.
    os::FileIdentity now = {};
    return os::identify(descriptor, now) && now.device == report_file.device &&
           now.inode == report_file.inode && write_to(descriptor, report_file, line);
  }
  const long result = open_path();
  const bool is_first = !path_was_asked;
  path_was_asked = true;
  if (os::failed(result)) return false;
  const int fd = static_cast<int>(result);
  if (is_first) os::identify(fd, report_file);
  const bool written = write_to(fd, report_file, line);
  os::close_file(fd);
  return written;
}

uint64_t report_owner() {
  return static_cast<uint64_t>(owner);
}

bool end_report() {
  return !__atomic_exchange_n(&ended, true, __ATOMIC_ACQ_REL);
}

void resume_report() {
  __atomic_store_n(&ended, false, __ATOMIC_RELEASE);
}

void complain_about_report(const Options& options) {
  Line name;
  name.text(options.report.start, options.report.size);
  complain("the report cannot be written (option report): ", name.c_string());
}

void complain(const char* what, const char* detail) {
  Line line;
  line.text("stabilizer: ").text(what).text(detail).text("\n");
  os::FileIdentity error_output = {};
  os::identify(2, error_output);
  write_to(2, error_output, line);
}

}  // namespace stab::rt
