// SPDX-License-Identifier: MIT
// The file of the option report=, to which lines are appended. A process that was forked off writes
// none.
#pragma once

#include <stdint.h>

#include "runtime/line.h"
#include "runtime/options.h"

namespace stab::rt {

// Remembers the file. The path is made absolute: the program may change its directory.
void open_report(const Options& options);
bool report_wanted();
void write_line(const Line& line);
// Of the process that opened it.
uint64_t report_owner();
// Nobody wants what comes later, unless it is resumed. False: it has ended before.
bool end_report();
void resume_report();

// One line on standard error.
void complain(const char* what, const char* detail);

}  // namespace stab::rt
