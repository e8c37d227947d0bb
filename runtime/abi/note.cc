// SPDX-License-Identifier: MIT
#include "runtime/abi/abi.h"

__attribute__((used)) const stab::abi::Note stab_note = {8,
                                                         sizeof(stab::abi::Note) - 20,
                                                         1,
                                                         {'S', 't', 'a', 'b', 'd', 0, 0, 0},
                                                         stab::abi::version,
                                                         0,
                                                         0,
                                                         0};
