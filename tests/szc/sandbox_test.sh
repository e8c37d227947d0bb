#!/bin/bash
# SPDX-License-Identifier: MIT
# sandbox_test.sh SOURCE BUILD: functions move until the program is in a sandbox, and go on where the kernel refused one.
set -u
. "$1/tests/lib.sh"
cd "$work" || exit 1
cat >probe.c <<'C'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
static struct sock_filter everything = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
static struct sock_fprog program = {1, &everything};
static int ask(int way) {
  unsigned action = SECCOMP_RET_KILL_PROCESS;
  errno = 0;
  switch (way) {
    case 1: return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0);
    case 2: return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL);
    case 3: return (int)syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);
    case 4: return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, ~0u, &program);
    case 5: program.len = 0; return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
    case 6: prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
  }
  return 0;
}
__attribute__((noinline)) static long work(long n) {
  long s = 0;
  for (long i = 0; i < n; ++i) s = s * 31 + (i ^ s);
  return s;
}
static int way;
static void *asks(void *unused) {
  for (int i = 0; i < 200; ++i) {
    ask(way);
    work(2000);
  }
  return unused;
}
int main(int count, char **arguments) {
  (void)count;
  way = atoi(arguments[1]);
  pthread_t threads[3];
  const int many = arguments[2] != NULL;
  if (many)
    for (int i = 0; i < 3; ++i) pthread_create(&threads[i], NULL, asks, NULL);
  const int result = ask(way);
  printf("%d %d\n", result, errno);
  if (many)
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
  for (const clock_t end = clock() + CLOCKS_PER_SEC / 2; clock() < end;) work(10000);
  return 0;
}
C
$szc -O1 -pthread probe.c -o probe || exit 1
${STAB_CLANG:-clang-22} -O1 -pthread probe.c -o plain || exit 1

epochs() { sed -n "s/.*\"event\": \"$1\".*\"epochs\": \([0-9]*\).*/\1/p" report; }
for way in 1 2 3 4 5; do
  for many in "" many; do
    rm -f report
    STABILIZER_OPTIONS=budget=off:period=2ms:report=report timeout 100 ./probe $way $many >output || fail "way $way $many ends with $?"
    [ "$(cat output)" = "$(./plain $way)" ] || fail "way $way $many: $(cat output), not $(./plain $way)"
    got=$(epochs exit)
    [ "${got:-0}" -gt 30 ] || fail "way $way $many: functions moved ${got:-no} times: $(cat report)"
    [ "$(grep -c sandbox report)" -le 10 ] || fail "way $way $many: $(grep -c sandbox report) lines about sandboxes that were refused"
  done
  [ $way -gt 3 ] || ! grep -q sandbox report || fail "way $way: a probe is taken for a sandbox"
done
for many in "" many; do
  rm -f report
  STABILIZER_OPTIONS=budget=off:period=2ms:report=report timeout 100 ./probe 6 $many >output || fail "a filter $many ends with $?"
  [ "$(cat output)" = "0 0" ] || fail "a filter $many: $(cat output)"
  [ "$(epochs sandbox)" -lt 100 ] && ! grep -q '"event": "exit"' report || fail "in the sandbox $many: $(cat report)"
  tail -1 report | grep -q sandbox || fail "the last line is not the sandbox's $many"
done

# A child of fork enters a sandbox in which it may only end, and its parent goes on: with epochs, without, and after a memory key
# has ended them. Nobody asks the kernel for the child's number there.
cat >child.c <<'C'
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
static struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                      ALLOW(SYS_write), ALLOW(SYS_rt_sigreturn), ALLOW(SYS_exit_group), ALLOW(SYS_munmap),
                                      ALLOW(SYS_brk), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
static struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
static void enter(int by_number) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(4);
  if ((by_number ? (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)
                 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) != 0)
    _exit(5);
}
int main(int count, char **arguments) {
  if (count > 1 && strcmp(arguments[1], "key") == 0)
    pkey_mprotect(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096, PROT_READ, 1);
  for (int how = 0; how < 4; ++how) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
      enter(how % 2);
      if (how < 2) _exit(3);
      exit(3);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 3) return 10 + how;
  }
  return 0;
}
C
$szc -O1 child.c -o child || exit 1
while read -r options arguments; do
  rm -f report
  # shellcheck disable=SC2086
  STABILIZER_OPTIONS=$options:report=report timeout 60 ./child $arguments || fail "a child in a sandbox, $options $arguments: status $?"
  [ "$(grep -c '"event": "exit"' report)" = 1 ] || fail "a child in a sandbox, $options $arguments: $(cat report)"
done <<'EOF'
rerandomize=once
code=0
code=0:heap=1
period=1ms
period=1ms key
EOF

# A sandbox in which threads may be made, and limits not read: glibc does not read them.
cat >threads.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static void* body(void* given) { return given; }
int main(void) {
  struct sock_filter code[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_prlimit64, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {4, code};
  pthread_t thread;
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) return 1;
  if (pthread_create(&thread, NULL, body, NULL) != 0 || pthread_join(thread, NULL) != 0) return 2;
  puts("made");
  return 0;
}
C
$szc -O1 -pthread threads.c -o threads || exit 1
for options in stack=0 stack=1; do
  [ "$(STABILIZER_OPTIONS=$options ./threads)" = made ] || fail "threads in a sandbox, $options"
done
finish
