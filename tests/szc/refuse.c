// SPDX-License-Identifier: MIT
// szc_refuse mprotect|exec|near|mremap[:N] PROGRAM...: runs the program with these system calls refused (EPERM) by seccomp:
// any mprotect that makes memory writable again or executable; only executable ones; mappings at fixed places; mremap to a
// place that the caller chose. With N the first N of them are allowed.
// szc_refuse both PROGRAM...: a call that makes memory writable and executable at one time ends the program (SIGSYS).
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define REFUSE BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1)
#define ASK BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)
#define KILL BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define ALLOW BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int stop(const char *what) {
  perror(what);
  return 2;
}

union Room {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int))];
};
static struct msghdr message_of(struct iovec *part, union Room *room) {
  struct msghdr message = {.msg_iov = part, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof *room};
  return message;
}
static int send_file(int socket, int file) {
  char byte = 0;
  struct iovec part = {&byte, 1};
  union Room room = {0};
  struct msghdr message = message_of(&part, &room);
  struct cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof file);
  memcpy(CMSG_DATA(header), &file, sizeof file);
  return sendmsg(socket, &message, 0) == 1;
}
static int receive_file(int socket) {
  char byte;
  struct iovec part = {&byte, 1};
  union Room room = {0};
  struct msghdr message = message_of(&part, &room);
  int file = -1;
  if (recvmsg(socket, &message, 0) == 1 && CMSG_FIRSTHDR(&message)) memcpy(&file, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof file);
  return file;
}

// Lets the kernel go on with the first calls, and refuses all later ones, until the program has ended.
static void answer(int asked, long allowed) {
  struct pollfd ready = {asked, POLLIN, 0};
  while (poll(&ready, 1, -1) >= 0 && !(ready.revents & POLLHUP)) {
    struct seccomp_notif call = {0};
    if (ioctl(asked, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;
    struct seccomp_notif_resp response = {.id = call.id};
    if (allowed-- > 0)
      response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
      response.error = -EPERM;
    ioctl(asked, SECCOMP_IOCTL_NOTIF_SEND, &response);
  }
}

// A process that is no child of the program answers what the filter asks. Its end of the socket is returned.
static int start_answering(long allowed) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    if (fork() != 0) _exit(0);
    close(ends[0]);
    for (int file = 0; file < 3; ++file) close(file);
    answer(receive_file(ends[1]), allowed);
    _exit(0);
  }
  close(ends[1]);
  return child > 0 && waitpid(child, NULL, 0) == child ? ends[0] : -1;
}

int main(int count, char **arguments) {
  if (count < 3) return 2;
  char *what = arguments[1];
  char *colon = strchr(what, ':');
  if (colon) *colon = '\0';
  const int near = strcmp(what, "near") == 0;
  const int mremap = strcmp(what, "mremap") == 0;
  // The loader needs mprotect for read-only data after relocation, so plain r-- stays allowed.
  const unsigned bits = strcmp(what, "exec") == 0 ? 4 : 6;
  const struct sock_filter refuse = REFUSE, ask = ASK;
  struct sock_filter filter[] = {
      LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, mremap ? SYS_mremap : near ? SYS_mmap : SYS_mprotect, 0, 3),
      LOAD(args[near || mremap ? 3 : 2]),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, mremap ? 2 : near ? 0x100000 : bits, 0, 1),
      colon ? ask : refuse,
      ALLOW,
  };
  struct sock_filter both[] = {
      LOAD(nr),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pkey_mprotect, 0, 4),
      LOAD(args[2]),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, PROT_WRITE | PROT_EXEC),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_WRITE | PROT_EXEC, 0, 1),
      KILL,
      ALLOW,
  };
  struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
  if (strcmp(what, "both") == 0) program = (struct sock_fprog){sizeof both / sizeof *both, both};
  const int socket = colon ? start_answering(atol(colon + 1)) : -1;
  if (colon && socket < 0) return stop("fork");
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return stop("seccomp");
  const long asked = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, colon ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &program);
  if (asked < 0) return stop("seccomp");
  if (colon && !send_file(socket, (int)asked)) return stop("sendmsg");
  if (colon) close((int)asked);
  execv(arguments[2], arguments + 2);
  return stop(arguments[2]);
}
