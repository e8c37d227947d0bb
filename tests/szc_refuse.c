// SPDX-License-Identifier: MIT
// szc_refuse mprotect|exec|near|mremap PROGRAM...: runs the program with these system calls refused (EPERM) by seccomp:
// any mprotect that makes memory writable again or executable; only executable ones; mappings at fixed places; mremap.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

int main(int count, char **arguments) {
  if (count < 3) return 2;
  const int near = strcmp(arguments[1], "near") == 0;
  const int mremap = strcmp(arguments[1], "mremap") == 0;
  // The loader needs mprotect for read-only data after relocation, so plain r-- stays allowed.
  const unsigned bits = strcmp(arguments[1], "exec") == 0 ? 4 : 6;
  struct sock_filter filter[] = {
      LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, mremap ? SYS_mremap : near ? SYS_mmap : SYS_mprotect, 0, 3),
      LOAD(args[near || mremap ? 3 : 2]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mremap ? 1 : near ? 0x100000 : bits, 0, 1),
      REFUSE,
      ALLOW,
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("seccomp");
    return 2;
  }
  execv(arguments[2], arguments + 2);
  perror(arguments[2]);
  return 2;
}
