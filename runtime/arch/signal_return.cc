// SPDX-License-Identifier: MIT
#include "runtime/arch/signal_return.h"

// movq $15, %rax; syscall
__asm__(
    ".section stab_text,\"ax\",@progbits\n"
    ".p2align 4, 0x90\n"
    "nop\n"
    ".hidden stab_return_from_signal\n"
    ".globl stab_return_from_signal\n"
    ".type stab_return_from_signal, @function\n"
    "stab_return_from_signal:\n"
    ".byte 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05\n"
    ".size stab_return_from_signal, . - stab_return_from_signal\n"
    ".previous\n");
