// SPDX-License-Identifier: MIT
// Which thread writes the report's last line: the first that comes, from main's end, _exit or
// quick_exit, and no other. The others wait until it is written, since the process ends with whoever
// goes on. They do so for `patience_ns` at most: a handler may keep the writer, or nobody reads the
// file. A handler that leaves by _exit while its own thread writes has to write the line itself, which
// may come twice then.
// Of two threads that call exit, or quick_exit, at once the second does not come here: libc (before
// 2.41) has taken our function off its list, and ends the process.
// Where nobody waits it makes no system call but those of the process's number: the program may have
// forbidden others.
//
// Any thread and any handler; a child of fork begins anew.
#pragma once

#include <stdint.h>

namespace stab::rt {

class LastLine {
 public:
  constexpr explicit LastLine(uint64_t patience_ns) : patience_ns_(patience_ns) {}
  // Whether the caller has to write it, and to say so by end().
  bool begin();
  void end();

 private:
  void wait_for_writer(uint64_t state);

  uint64_t patience_ns_;
  uint64_t state_ = 0;  // last_line.cc says of what
};

}  // namespace stab::rt
