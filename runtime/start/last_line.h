// SPDX-License-Identifier: MIT
// Chooses the thread that writes the report's last line: only the first one that comes, from main's
// end, _exit or quick_exit. The others wait until the line is written, because the process ends as
// soon as one of them continues. They wait for `patience_ns` at most: a handler may keep the
// writer, or nobody may read the file. A handler that leaves by _exit while its own thread writes
// has to write the line itself, and then the line may come twice. If two threads call exit, or
// quick_exit, at once, the second one does not come here: libc (before 2.41) has taken our function
// off its list, and ends the process. If nobody waits, the only system calls are those for the
// process's number, because the program may have forbidden others.
//
// Any thread and any handler may call this. A child of fork starts anew.
#pragma once

#include <stdint.h>

namespace stab::rt {

class LastLine {
 public:
  constexpr explicit LastLine(uint64_t patience_ns) : patience_ns_(patience_ns) {}
  // Whether the caller has to write the line, and then call end().
  bool begin();
  void end();

 private:
  void wait_for_writer(uint64_t state);

  uint64_t patience_ns_;
  uint64_t state_ = 0;  // last_line.cc tells the meaning of the bits
};

}  // namespace stab::rt
