// SPDX-License-Identifier: MIT
// Interposes calls that wait for something other than our threads. A thread pays before the call,
// since it may wake somebody there, and after it, since a faster line makes nothing outside
// faster.
#include <fcntl.h>
#include <mqueue.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "causal/preload/real.h"
#include "causal/preload/thread.h"

using namespace stab::causal;

#define STAB_OUTSIDE(type, name, parameters, arguments) \
  STAB_EXPORT type name parameters {                    \
    before_wake();                                      \
    const type result = STAB_REAL(name) arguments;      \
    before_wake();                                      \
    return result;                                      \
  }

STAB_OUTSIDE(ssize_t, read, (int fd, void* to, size_t size), (fd, to, size))
STAB_OUTSIDE(ssize_t, pread, (int fd, void* to, size_t size, off_t at), (fd, to, size, at))
STAB_OUTSIDE(ssize_t, pread64, (int fd, void* to, size_t size, off64_t at), (fd, to, size, at))
STAB_OUTSIDE(ssize_t, readv, (int fd, const iovec* pieces, int count), (fd, pieces, count))
STAB_OUTSIDE(ssize_t, write, (int fd, const void* from, size_t size), (fd, from, size))
STAB_OUTSIDE(ssize_t, pwrite, (int fd, const void* from, size_t size, off_t at),
             (fd, from, size, at))
STAB_OUTSIDE(ssize_t, pwrite64, (int fd, const void* from, size_t size, off64_t at),
             (fd, from, size, at))
STAB_OUTSIDE(ssize_t, writev, (int fd, const iovec* pieces, int count), (fd, pieces, count))
STAB_OUTSIDE(ssize_t, preadv, (int fd, const iovec* pieces, int count, off_t at),
             (fd, pieces, count, at))
STAB_OUTSIDE(ssize_t, preadv64, (int fd, const iovec* pieces, int count, off64_t at),
             (fd, pieces, count, at))
STAB_OUTSIDE(ssize_t, pwritev, (int fd, const iovec* pieces, int count, off_t at),
             (fd, pieces, count, at))
STAB_OUTSIDE(ssize_t, pwritev64, (int fd, const iovec* pieces, int count, off64_t at),
             (fd, pieces, count, at))
STAB_OUTSIDE(ssize_t, preadv2, (int fd, const iovec* pieces, int count, off_t at, int flags),
             (fd, pieces, count, at, flags))
STAB_OUTSIDE(ssize_t, preadv64v2, (int fd, const iovec* pieces, int count, off64_t at, int flags),
             (fd, pieces, count, at, flags))
STAB_OUTSIDE(ssize_t, pwritev2, (int fd, const iovec* pieces, int count, off_t at, int flags),
             (fd, pieces, count, at, flags))
STAB_OUTSIDE(ssize_t, pwritev64v2, (int fd, const iovec* pieces, int count, off64_t at, int flags),
             (fd, pieces, count, at, flags))
STAB_OUTSIDE(ssize_t, sendfile, (int to, int from, off_t* at, size_t size), (to, from, at, size))
STAB_OUTSIDE(ssize_t, sendfile64, (int to, int from, off64_t* at, size_t size),
             (to, from, at, size))
STAB_OUTSIDE(ssize_t, copy_file_range,
             (int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags),
             (from, from_at, to, to_at, size, flags))
STAB_OUTSIDE(ssize_t, splice,
             (int from, off64_t* from_at, int to, off64_t* to_at, size_t size, unsigned flags),
             (from, from_at, to, to_at, size, flags))
STAB_OUTSIDE(ssize_t, tee, (int from, int to, size_t size, unsigned flags), (from, to, size, flags))
STAB_OUTSIDE(ssize_t, vmsplice, (int fd, const iovec* pieces, size_t count, unsigned flags),
             (fd, pieces, count, flags))
STAB_OUTSIDE(int, fsync, (int fd), (fd))
STAB_OUTSIDE(int, fdatasync, (int fd), (fd))
STAB_OUTSIDE(int, syncfs, (int fd), (fd))
STAB_OUTSIDE(int, msync, (void* start, size_t size, int flags), (start, size, flags))
STAB_OUTSIDE(int, flock, (int fd, int operation), (fd, operation))
STAB_OUTSIDE(int, lockf, (int fd, int operation, off_t size), (fd, operation, size))
STAB_OUTSIDE(int, lockf64, (int fd, int operation, off64_t size), (fd, operation, size))
STAB_OUTSIDE(int, poll, (pollfd * fds, nfds_t count, int ms), (fds, count, ms))
STAB_OUTSIDE(int, ppoll, (pollfd * fds, nfds_t count, const timespec* time, const sigset_t* mask),
             (fds, count, time, mask))
STAB_OUTSIDE(int, select, (int count, fd_set* reads, fd_set* writes, fd_set* others, timeval* time),
             (count, reads, writes, others, time))
STAB_OUTSIDE(int, pselect,
             (int count, fd_set* reads, fd_set* writes, fd_set* others, const timespec* time,
              const sigset_t* mask),
             (count, reads, writes, others, time, mask))
STAB_OUTSIDE(int, epoll_wait, (int fd, epoll_event* events, int most, int ms),
             (fd, events, most, ms))
STAB_OUTSIDE(int, epoll_pwait,
             (int fd, epoll_event* events, int most, int ms, const sigset_t* mask),
             (fd, events, most, ms, mask))
STAB_OUTSIDE(int, epoll_pwait2,
             (int fd, epoll_event* events, int most, const timespec* time, const sigset_t* mask),
             (fd, events, most, time, mask))
STAB_OUTSIDE(int, nanosleep, (const timespec* time, timespec* rest), (time, rest))
STAB_OUTSIDE(int, clock_nanosleep,
             (clockid_t clock, int flags, const timespec* time, timespec* rest),
             (clock, flags, time, rest))
STAB_OUTSIDE(int, thrd_sleep, (const timespec* time, timespec* rest), (time, rest))
STAB_OUTSIDE(int, usleep, (useconds_t time), (time))
STAB_OUTSIDE(unsigned, sleep, (unsigned time), (time))
STAB_OUTSIDE(int, pause, (), ())
STAB_OUTSIDE(int, sigsuspend, (const sigset_t* mask), (mask))
STAB_OUTSIDE(int, accept, (int fd, sockaddr* address, socklen_t* size), (fd, address, size))
STAB_OUTSIDE(int, accept4, (int fd, sockaddr* address, socklen_t* size, int flags),
             (fd, address, size, flags))
STAB_OUTSIDE(int, connect, (int fd, const sockaddr* address, socklen_t size), (fd, address, size))
STAB_OUTSIDE(ssize_t, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags))
STAB_OUTSIDE(ssize_t, recvfrom,
             (int fd, void* to, size_t size, int flags, sockaddr* address, socklen_t* address_size),
             (fd, to, size, flags, address, address_size))
STAB_OUTSIDE(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))
STAB_OUTSIDE(int, recvmmsg, (int fd, mmsghdr* messages, unsigned count, int flags, timespec* time),
             (fd, messages, count, flags, time))
STAB_OUTSIDE(ssize_t, send, (int fd, const void* from, size_t size, int flags),
             (fd, from, size, flags))
STAB_OUTSIDE(ssize_t, sendto,
             (int fd, const void* from, size_t size, int flags, const sockaddr* address,
              socklen_t address_size),
             (fd, from, size, flags, address, address_size))
STAB_OUTSIDE(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))
STAB_OUTSIDE(int, sendmmsg, (int fd, mmsghdr* messages, unsigned count, int flags),
             (fd, messages, count, flags))
STAB_OUTSIDE(int, eventfd_read, (int fd, eventfd_t* value), (fd, value))
STAB_OUTSIDE(int, eventfd_write, (int fd, eventfd_t value), (fd, value))
STAB_OUTSIDE(ssize_t, msgrcv, (int queue, void* to, size_t size, long kind, int flags),
             (queue, to, size, kind, flags))
STAB_OUTSIDE(int, msgsnd, (int queue, const void* from, size_t size, int flags),
             (queue, from, size, flags))
STAB_OUTSIDE(int, semop, (int set, sembuf* operations, size_t count), (set, operations, count))
STAB_OUTSIDE(int, semtimedop, (int set, sembuf* operations, size_t count, const timespec* time),
             (set, operations, count, time))
STAB_OUTSIDE(ssize_t, mq_receive, (mqd_t queue, char* to, size_t size, unsigned* priority),
             (queue, to, size, priority))
STAB_OUTSIDE(ssize_t, mq_timedreceive,
             (mqd_t queue, char* to, size_t size, unsigned* priority, const timespec* until),
             (queue, to, size, priority, until))
STAB_OUTSIDE(int, mq_send, (mqd_t queue, const char* from, size_t size, unsigned priority),
             (queue, from, size, priority))
STAB_OUTSIDE(int, mq_timedsend,
             (mqd_t queue, const char* from, size_t size, unsigned priority, const timespec* until),
             (queue, from, size, priority, until))
