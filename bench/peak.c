// SPDX-License-Identifier: MIT
// peak COMMAND...: runs COMMAND and prints its peak memory in KB as the last line of standard error.
// The memory of the starting program counts, too, so this program is small.
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  if (fork() == 0) {
    execvp(argv[1], argv + 1);
    _exit(127);
  }
  int status;
  struct rusage usage;
  wait4(-1, &status, 0, &usage);
  fprintf(stderr, "%ld\n", usage.ru_maxrss);
  return status != 0;
}
