// SPDX-License-Identifier: MIT
// Calls that wait for what is no thread of ours: a thread pays before, since it may wake somebody
// there, and after, since a faster line makes nothing outside faster.
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
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
STAB_OUTSIDE(int, fsync, (int fd), (fd))
STAB_OUTSIDE(int, fdatasync, (int fd), (fd))
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
STAB_OUTSIDE(int, nanosleep, (const timespec* time, timespec* rest), (time, rest))
STAB_OUTSIDE(int, clock_nanosleep,
             (clockid_t clock, int flags, const timespec* time, timespec* rest),
             (clock, flags, time, rest))
STAB_OUTSIDE(int, usleep, (useconds_t time), (time))
STAB_OUTSIDE(unsigned, sleep, (unsigned time), (time))
STAB_OUTSIDE(int, pause, (), ())
STAB_OUTSIDE(int, accept, (int fd, sockaddr* address, socklen_t* size), (fd, address, size))
STAB_OUTSIDE(int, accept4, (int fd, sockaddr* address, socklen_t* size, int flags),
             (fd, address, size, flags))
STAB_OUTSIDE(int, connect, (int fd, const sockaddr* address, socklen_t size), (fd, address, size))
STAB_OUTSIDE(ssize_t, recv, (int fd, void* to, size_t size, int flags), (fd, to, size, flags))
STAB_OUTSIDE(ssize_t, recvfrom,
             (int fd, void* to, size_t size, int flags, sockaddr* address, socklen_t* address_size),
             (fd, to, size, flags, address, address_size))
STAB_OUTSIDE(ssize_t, recvmsg, (int fd, msghdr* message, int flags), (fd, message, flags))
STAB_OUTSIDE(ssize_t, send, (int fd, const void* from, size_t size, int flags),
             (fd, from, size, flags))
STAB_OUTSIDE(ssize_t, sendto,
             (int fd, const void* from, size_t size, int flags, const sockaddr* address,
              socklen_t address_size),
             (fd, from, size, flags, address, address_size))
STAB_OUTSIDE(ssize_t, sendmsg, (int fd, const msghdr* message, int flags), (fd, message, flags))
