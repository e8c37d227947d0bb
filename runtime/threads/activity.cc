// SPDX-License-Identifier: MIT
#include "runtime/threads/activity.h"

#include <asm/unistd.h>
#include <errno.h>

#include "runtime/base/line.h"
#include "runtime/base/memory.h"
#include "runtime/base/os.h"

namespace stab::rt {
namespace {

// A small file of /proc, ended by a zero. Its size, or a failure.
long read_task_file(int thread, const char* file, char* buffer, size_t size) {
  Line path;
  path.text("/proc/self/task/").number(static_cast<uint64_t>(thread)).text(file);
  const long fd = os::open_read(path.c_string());
  if (os::failed(fd)) return fd;
  const long got = os::read_some(static_cast<int>(fd), buffer, size - 1);
  os::close_file(static_cast<int>(fd));
  if (!os::failed(got)) buffer[got] = '\0';
  return got;
}

bool makes_child(uint64_t call) {
  return call == __NR_vfork || call == __NR_clone || call == __NR_clone3;
}

// "id (name) state ...". 0: there is none.
char state_of(int thread, long& size) {
  char text[128];
  size = read_task_file(thread, "/stat", text, sizeof text);
  for (long i = size; i-- > 1;)
    if (text[i - 1] == ')' && text[i] == ' ') return text[i + 1];
  return 0;
}

// By what every process may read, for one that has given up privileges. A parent that waits for
// vfork can only be killed: it is in state D, as others are for a moment.
Activity activity_by_state(int thread) {
  long size = 0;
  const char state = state_of(thread, size);
  if (state == 'R') return Activity::runs;
  if (state == 'D') return Activity::lends;
  return state == 'S' ? Activity::sleeps : Activity::unknown;
}

}  // namespace

// "running", or the number of the call and its arguments.
Activity activity_of(int thread) {
  char text[256];
  const long size = read_task_file(thread, "/syscall", text, sizeof text);
  if (size == -EACCES || size == -EPERM) return activity_by_state(thread);
  if (size <= 1) return Activity::unknown;
  if (text[0] == 'r') return Activity::runs;
  const char* at = text;
  uint64_t call = 0;
  return read_decimal(at, call) && makes_child(call) ? Activity::lends : Activity::sleeps;
}

bool has_ended(int thread) {
  long size = 0;
  const char state = state_of(thread, size);
  if (size <= 0)
    return size == 0 || size == -ENOENT || size == -ESRCH;  // not: no descriptor is free
  return state == 'Z' || state == 'X';
}

uint32_t threads_in_process() {
  const long links = os::links_of("/proc/self/task");
  return links > 2 ? static_cast<uint32_t>(links - 2) : 0;
}

}  // namespace stab::rt
