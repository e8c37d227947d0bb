// SPDX-License-Identifier: MIT
// Threads asleep in every kind of system call while others make epochs happen: no call is interrupted, none ends early,
// and what wakes it for a reason is still seen.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

// Each lasts for this long; the kernel may count a socket's timeout in ticks of up to 10 ms.
static const long NAP = 4000000;
static const double NAP_MS = 4;
enum { SOCKET_MS = 30, TICK_MS = 10 };

static struct timespec from_now(clockid_t clock, long ns) {
  struct timespec t;
  clock_gettime(clock, &t);
  t.tv_nsec += ns;
  if (t.tv_nsec >= 1000000000) t.tv_sec += 1, t.tv_nsec -= 1000000000;
  return t;
}

static void nap_nanosleep(void) {
  struct timespec t = in_ns(NAP), rest = {0, 0};
  CHECK(nanosleep(&t, &rest) == 0);
}
static void nap_relative(void) {
  struct timespec t = in_ns(NAP);
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL) == 0);
}
static void nap_absolute(void) {
  struct timespec t = from_now(CLOCK_MONOTONIC, NAP);
  CHECK(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0);
}
static void nap_usleep(void) { CHECK(usleep((useconds_t)(NAP / 1000)) == 0); }
static void nap_poll(void) { CHECK(poll(NULL, 0, (int)NAP_MS) == 0); }
static void nap_ppoll(void) {
  struct timespec t = in_ns(NAP);
  sigset_t none;
  sigemptyset(&none);
  CHECK(ppoll(NULL, 0, &t, &none) == 0);
}
static void nap_select(void) {
  struct timeval t = {0, NAP / 1000};
  CHECK(select(0, NULL, NULL, NULL, &t) == 0);
}
static void nap_pselect(void) {
  struct timespec t = in_ns(NAP);
  sigset_t none;
  sigemptyset(&none);
  CHECK(pselect(0, NULL, NULL, NULL, &t, &none) == 0);
}
static void nap_epoll(void) {
  static __thread int fd = -1;
  struct epoll_event event;
  sigset_t none;
  sigemptyset(&none);
  if (fd < 0) fd = epoll_create1(0);
  CHECK(epoll_wait(fd, &event, 1, 1) == 0);
  CHECK(epoll_pwait(fd, &event, 1, (int)NAP_MS, &none) == 0);
}
static void nap_semaphore(void) {
  sem_t semaphore;
  sem_init(&semaphore, 0, 0);
  struct timespec t = from_now(CLOCK_MONOTONIC, NAP);
  CHECK(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &t) == -1 && errno == ETIMEDOUT);
  t = from_now(CLOCK_REALTIME, 1000000);
  CHECK(sem_timedwait(&semaphore, &t) == -1 && errno == ETIMEDOUT);
}
static void nap_condition(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  struct timespec t = from_now(CLOCK_MONOTONIC, NAP);
  pthread_mutex_lock(&mutex);
  int got;
  while ((got = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &t)) == 0) {}
  CHECK(got == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
}
static void nap_mutex(void) {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  struct timespec t = from_now(CLOCK_MONOTONIC, NAP);
  CHECK(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &t) == ETIMEDOUT);
  pthread_mutex_unlock(&mutex);
}
static void nap_signal(void) {
  struct timespec t = in_ns(NAP);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR2);
  CHECK(sigtimedwait(&set, NULL, &t) == -1 && errno == EAGAIN);
}
static void nap_system_v(void) {
  struct timespec t = in_ns(NAP);
  struct sembuf down = {0, -1, 0};
  int id = semget(IPC_PRIVATE, 1, 0600);
  if (id < 0) return nap_nanosleep();
  int got = semtimedop(id, &down, 1, &t), why = errno;
  semctl(id, 0, IPC_RMID);
  errno = why;
  CHECK(got == -1 && why == EAGAIN);
}
static void nap_timer(void) {
  uint64_t count = 0;
  struct itimerspec t = {.it_value = in_ns(NAP)};
  int fd = timerfd_create(CLOCK_MONOTONIC, 0);
  CHECK(fd >= 0 && timerfd_settime(fd, 0, &t, NULL) == 0);
  CHECK(read(fd, &count, sizeof count) == sizeof count && count == 1);
  close(fd);
}

static void nap_accept(void) {
  struct sockaddr_un name = {.sun_family = AF_UNIX};
  struct timeval wait = {0, SOCKET_MS * 1000};
  int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&name, sizeof(sa_family_t)) == 0 && listen(fd, 1) == 0);
  CHECK(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0);
  CHECK(accept(fd, NULL, NULL) == -1 && errno == EAGAIN);
  close(fd);
}
static void nap_receive(void) {
  struct timeval wait = {0, SOCKET_MS * 1000};
  int ends[2];
  char byte;
  CHECK(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0);
  CHECK(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) == 0);
  CHECK(recv(ends[0], &byte, 1, 0) == -1 && errno == EAGAIN);
  close(ends[0]), close(ends[1]);
}

struct Nap {
  void (*take)(void);
  double at_least;
};
static const struct Nap naps[] = {
    {nap_nanosleep, NAP_MS}, {nap_relative, NAP_MS},  {nap_absolute, NAP_MS},  {nap_usleep, NAP_MS}, {nap_poll, NAP_MS},
    {nap_ppoll, NAP_MS},     {nap_select, NAP_MS},    {nap_pselect, NAP_MS},   {nap_epoll, NAP_MS},  {nap_semaphore, NAP_MS},
    {nap_condition, NAP_MS}, {nap_mutex, NAP_MS},     {nap_signal, NAP_MS},    {nap_timer, NAP_MS},  {nap_system_v, NAP_MS},
    {nap_accept, SOCKET_MS - TICK_MS}, {nap_receive, SOCKET_MS - TICK_MS}};
enum { NAPS = sizeof naps / sizeof naps[0] };

static double end_of_all;
static long taken[NAPS];
NOINLINE static void below(int depth, void (*take)(void)) {
  volatile int mark = depth;
  if (depth == 0) take();
  else below(depth - 1, take);
  CHECK(mark == depth);
}
static void *sleeper(void *which) {
  const intptr_t i = (intptr_t)which;
  while (before(end_of_all) || taken[i] == 0) {
    double start = wall_ms();
    below((int)(taken[i] % 20), naps[i].take);
    CHECK(wall_ms() - start >= naps[i].at_least);
    work_once();
    taken[i] += 1;
  }
  return NULL;
}

// Calls that end when somebody acts: pipes, an event, semaphores, a message queue, a lock on a mutex.
static int pipe_ends[2], event, queue;
static sem_t posted;
static void *reader(void *unused) {
  char byte = 0, want = 0;
  do {
    CHECK(read(pipe_ends[0], &byte, 1) == 1 && byte == want);
    want = (char)((want + 1) % 100);
    work_once();
  } while (byte != 99);
  return unused;
}
static void *event_reader(void *unused) {
  uint64_t sum = 0, count;
  for (; sum < 100; sum += count) CHECK(read(event, &count, sizeof count) == sizeof count);
  CHECK(sum == 100);
  return unused;
}
static void *waiter(void *unused) {
  for (int i = 0; i < 100; ++i) CHECK(sem_wait(&posted) == 0);
  return unused;
}
static void *receiver(void *unused) {
  struct { long kind; int number; } message;
  for (int i = 0; queue >= 0 && i < 100; ++i) {
    CHECK(msgrcv(queue, &message, sizeof message.number, 0, 0) == sizeof message.number);
    CHECK(message.number == i);
  }
  return unused;
}
static void act(double part) {
  for (int i = 0; i < 100; ++i) {
    char byte = (char)i;
    uint64_t once = 1;
    struct { long kind; int number; } message = {1, i};
    CHECK(write(pipe_ends[1], &byte, 1) == 1 && write(event, &once, sizeof once) == sizeof once && sem_post(&posted) == 0);
    if (queue >= 0) CHECK(msgsnd(queue, &message, sizeof message.number, 0) == 0);
    work_ms(part * whole_ms() / 100);
  }
}

// sigsuspend and pause end by the program's own signal only.
static __thread volatile sig_atomic_t arrived;
static void on_usr1(int number) { arrived += number == SIGUSR1; }
static int suspending;
static void *suspended(void *unused) {
  sigset_t usr1, old;
  sigemptyset(&usr1);
  sigaddset(&usr1, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &usr1, &old) == 0);
  sigdelset(&old, SIGUSR1);
  for (int i = 0; i < 10; ++i) {
    int had = arrived;
    CHECK(sigsuspend(&old) == -1 && errno == EINTR && arrived == had + 1);
  }
  CHECK(pthread_sigmask(SIG_UNBLOCK, &usr1, NULL) == 0);
  for (int i = 0; i < 10; ++i) {
    int had = arrived;
    CHECK(pause() == -1 && errno == EINTR && arrived > had);
  }
  __atomic_store_n(&suspending, 0, __ATOMIC_RELEASE);
  return unused;
}

int main(void) {
  struct sigaction action = {.sa_handler = on_usr1};
  sigset_t usr2;
  sigemptyset(&usr2);
  sigaddset(&usr2, SIGUSR2);
  CHECK(pthread_sigmask(SIG_BLOCK, &usr2, NULL) == 0 && sigaction(SIGUSR1, &action, NULL) == 0);
  CHECK(pipe(pipe_ends) == 0 && sem_init(&posted, 0, 0) == 0);
  event = eventfd(0, 0);
  queue = msgget(IPC_PRIVATE, 0600);
  void *(*const woken[])(void *) = {reader, event_reader, waiter, receiver};
  pthread_t sleepers[NAPS], others[4];
  end_of_all = section(0.9);
  for (intptr_t i = 0; i < NAPS; ++i) sleepers[i] = start_thread(sleeper, (void *)i);
  for (int i = 0; i < 4; ++i) others[i] = start_thread(woken[i], NULL);
  act(0.5);
  for (int i = 0; i < 4; ++i) join_thread(others[i]);
  if (queue >= 0) msgctl(queue, IPC_RMID, NULL);
  suspending = 1;
  pthread_t thread = start_thread(suspended, NULL);
  while (__atomic_load_n(&suspending, __ATOMIC_ACQUIRE)) {
    pthread_kill(thread, SIGUSR1);
    poll(NULL, 0, 1);
    work_ms(1);
  }
  join_thread(thread);
  while (before(end_of_all)) work_once();
  for (int i = 0; i < NAPS; ++i) join_thread(sleepers[i]);
  for (int i = 0; i < NAPS; ++i) CHECK(taken[i] > 0);
  puts("nobody was woken");
  return 0;
}
