#!/bin/bash
# SPDX-License-Identifier: MIT
# ends_test.sh SOURCE BUILD: however a program ends, its report has one last line: when main returns while other threads leave
# by _exit, when several leave at once, and behind the program's own functions at quick_exit.
set -u
. "$1/tests/lib.sh"
. "$source_directory/tests/programs/build.sh"
cd "$work" || exit 1
# one_line OPTIONS STATUS COMMAND...: this ends so, and its report has one line of the end.
one_line() {
  local options=$1 expected=$2
  rm -f report
  STABILIZER_OPTIONS=$options:report=report timeout 60 "${@:3}" >said
  local status=$?
  [ $status = "$expected" ] || fail "${*:3}, $options: status $status, not $expected"
  [ "$(grep -c '"event": "exit"' report)" = 1 ] || fail "${*:3}, $options: $(cat report)"
}

cat >leave.c <<'C'
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
static volatile int ready, go;
static int returning;
static void *leave(void *delay) {
  __sync_fetch_and_add(&ready, 1);
  while (!go) {}
  for (volatile long i = (long)delay; i > 0; --i) {}
  _exit(0);
}
/* COUNT threads leave, while main returns (or leaves, too), each after a busy wait that differs from try to try. */
int main(int count, char **arguments) {
  const int threads = atoi(arguments[1]), try = atoi(arguments[2]);
  returning = count > 3;
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave, (void *)(long)(try * 331 % 20000 * (i + 1)))) return 1;
  }
  while (ready < threads) {}
  go = 1;
  for (volatile int i = 0; i < try * 577 % 20000; ++i) {}
  if (!returning) _exit(0);
  return 0;
}
C
$szc -O1 -pthread leave.c -o leave || exit 1
for ((try = 0; try < 100; ++try)); do
  one_line code=0 0 ./leave $((1 + try % 3)) $try $([ $((try % 2)) = 0 ] || echo returning)
  [ $failures = 0 ] || break
done

cat >quick.c <<'C'
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "stabilizer.h"
static void first(void) { STAB_BEGIN_REGION("quick"); STAB_END_REGION("quick"); puts("first"); fflush(stdout); }
static void second(void) { puts("second"); fflush(stdout); }
static void leave(void) { _exit(8); }
static void *from_thread(void *unused) { quick_exit(7); return unused; }
int main(int count, char **arguments) {
  const char *how = arguments[1];
  pthread_t thread;
  at_quick_exit(first);
  at_quick_exit(second);
  atexit(leave);
  if (strcmp(how, "leaves") == 0) at_quick_exit(leave);
  if (strcmp(how, "child") == 0) {
    int status = 0;
    if (fork() == 0) quick_exit(0);
    wait(&status);
    return status + count - 2;
  }
  if (strcmp(how, "thread") == 0 && pthread_create(&thread, NULL, from_thread, NULL) == 0) pthread_join(thread, NULL);
  quick_exit(7);
}
C
$szc -O1 -pthread -I"$build_directory/include" quick.c -o quick || exit 1
for options in code=0 code=1:period=1ms code=1:heap=1:allocator=bitmap; do
  for how in program thread; do
    one_line $options 7 ./quick $how
    [ "$(xargs <said)" = "second first" ] || fail "functions at quick_exit, $options: $(cat said)"
    grep -q '"event": "region".*"name": "quick".*"count": 1' report || fail "the line comes before what runs at quick_exit: $(cat report)"
  done
  one_line $options 8 ./quick leaves
  one_line $options 8 ./quick child
done
[ "$(STABILIZER_OPTIONS=code=0 ./quick program | xargs)" = "second first" ] || fail "without a report"

# A signal handler calls exit() while its thread is in fork() or in our part of dlopen(). Where an alarm comes at another moment,
# nothing is tested.
cat >interrupted.c <<'C'
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
enum { SIZE = 64 << 20 };
volatile int loading;
static int delay;
void expect_alarm(void) {
  const struct itimerval once = {{0, 0}, {0, delay}};
  setitimer(ITIMER_REAL, &once, NULL);
}
static void leave(int number) { (void)number; exit(0); }
static void leave_if_loading(int number) { (void)number; if (loading == 1) exit(0); }
int main(int count, char **arguments) {
  if (count < 3) return 2;
  delay = atoi(arguments[2]);
  if (strcmp(arguments[1], "load") == 0) {
    signal(SIGALRM, leave_if_loading);
    return dlopen("./second.so", RTLD_NOW) == NULL;
  }
  /* So many small pages make each fork take long. */
  char *pages = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return 3;
  madvise(pages, SIZE, MADV_NOHUGEPAGE);
  memset(pages, 1, SIZE);
  signal(SIGALRM, leave);
  for (int i = 0; i < 10; ++i) {
    expect_alarm();
    if (fork() == 0) _exit(0);
    while (wait(NULL) > 0) {}
  }
  signal(SIGALRM, SIG_IGN);
  return 0;
}
C
cat >first.c <<'C'
extern volatile int loading;
void expect_alarm(void);
__attribute__((constructor)) static void first(void) { loading = 1; expect_alarm(); }
C
cat >second.c <<'C'
extern volatile int loading;
__attribute__((constructor)) static void second(void) { loading = 2; }
C
$szc -O1 -w -rdynamic interrupted.c -o interrupted -ldl || exit 1
$clang -O1 -fPIC -shared first.c -o first.so || exit 1
$szc -O1 -w -fPIC -shared second.c "$programs/fork_in_handler_module.c" -o second.so -Wl,--no-as-needed ./first.so "-Wl,-rpath,$PWD" || exit 1
for how in fork load; do
  for delay in 20 50 100 150 200 300; do
    one_line period=1000s 0 ./interrupted $how $delay
    [ $failures = 0 ] || break
  done
done

# A thread leaves fork() by longjmp(), in a function that runs after ours because it was registered before our start. Another thread's
# fork() or exit() does not wait for ever, functions stay, and the report says why.
cat >jumps.c <<'C'
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "stabilizer.h"
static jmp_buf back;
static volatile int jumping;
static void leave_fork(void) { if (jumping) longjmp(back, 1); }
static void begin(int count, char **arguments, char **environment) {
  (void)count, (void)arguments, (void)environment;
  pthread_atfork(leave_fork, NULL, NULL);
}
__attribute__((section(".preinit_array"), used)) static void (*const entry)(int, char **, char **) = begin;
static void fork_once(void) {
  int status = 1;
  const pid_t child = fork();
  if (child == 0) _exit(0);
  if (child < 0 || waitpid(child, &status, 0) != child || status != 0) _exit(9);
}
static void *of_thread(void *how) {
  if (strcmp(how, "exit") == 0) exit(0);
  fork_once();
  return NULL;
}
int main(int count, char **arguments) {
  pthread_t thread;
  if (count < 2) return 2;
  jumping = 1;
  if (setjmp(back) == 0) {
    fork();
    return 3;
  }
  jumping = 0;
  fork_once();
  if (pthread_create(&thread, NULL, of_thread, arguments[1]) != 0 || pthread_join(thread, NULL) != 0) return 4;
  fork_once();
  for (int i = 0; i < 3; ++i) stab_randomize_now();
  return 0;
}
C
$szc -O1 -w -pthread -I"$build_directory/include" jumps.c -o jumps || exit 1
for how in fork exit; do
  one_line period=1000s 0 ./jumps $how
  grep -q '"event": "exit".*"epochs": 1, "given_up": [1-9].*"why_given_up": "a thread stayed in fork' report || fail "a jump out of fork, $how: $(cat report)"
done

# Nobody reads the pipe that the report or a complaint goes to: the program ends as it does without them, and sees no SIGPIPE.
cat >unread.c <<'C'
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int count, char **arguments) {
  sigset_t signals;
  if (count < 2 || sigprocmask(SIG_BLOCK, NULL, &signals) != 0 || sigismember(&signals, SIGPIPE)) return 8;
  if (sigpending(&signals) != 0 || sigismember(&signals, SIGPIPE)) return 9;
  if (strcmp(arguments[1], "abort") == 0) abort();
  if (strcmp(arguments[1], "_exit") == 0) _exit(0);
  return 0;
}
C
$szc -O1 unread.c -o unread || exit 1
mkfifo pipe
exec 8<>pipe 9>pipe 8<&-
# unread STATUS COMMAND...: ends so, whatever is done with SIGPIPE here.
unread() {
  local expected=$1
  (exec env --default-signal=PIPE timeout 60 env "${@:2}") 2>/dev/null
  local status=$?
  [ $status = "$expected" ] || fail "nobody reads, ${*:2}: status $status, not $expected"
}
for options in code=0 rerandomize=once period=1ms; do
  unread 0 STABILIZER_OPTIONS=$options:report=9 ./unread return
  unread 0 STABILIZER_OPTIONS=$options:report=9 ./unread _exit
  unread 0 STABILIZER_OPTIONS=$options:verbose=1 sh -c './unread return 2>&9'
done
unread 134 STABILIZER_OPTIONS=rerandomize=once:report=9 ./unread abort
unread 0 LD_PRELOAD="$build_directory/lib/libstabheap.so" STABILIZER_OPTIONS=report=9 true
exec 9>&-

# A program that forbids itself all system calls but a few, by an instruction of its own. The report's last line needs fstat only if
# the report is a descriptor.
cat >narrow.c <<'C'
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
static long call(long number, long a, long b, long c, long d, long e) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8) : "rcx", "r11", "memory");
  return result;
}
#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
int main(int count, char **arguments) {
  struct sock_filter filter[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 ALLOW(SYS_write), FOR_REPORT, ALLOW(SYS_getpid), ALLOW(SYS_clock_gettime),
                                 ALLOW(SYS_exit_group), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)};
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  call(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (call(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, (long)&program, 0, 0) != 0) return 9;
  if (count > 1) _exit(0);
  return 0;
}
C
for file in 7 report; do
  calls='ALLOW(SYS_fstat)'
  [ $file = 7 ] || calls='ALLOW(SYS_open),ALLOW(SYS_close)'
  $szc -O1 "-DFOR_REPORT=$calls" narrow.c -o narrow || exit 1
  for how in '' leave; do
    STABILIZER_OPTIONS=rerandomize=once:report=$file timeout 60 ./narrow $how 7>report
    status=$?
    [ $status = 9 ] && break 2 # no filters here
    [ $status = 0 ] || fail "in a sandbox of its own, report=$file $how: status $status"
    [ "$(grep -c '"event": "exit"' report)" = 1 ] || fail "in a sandbox of its own, report=$file $how: $(cat report)"
  done
done
finish
