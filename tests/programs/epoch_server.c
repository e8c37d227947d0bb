// SPDX-License-Identifier: MIT
// A server while functions move: threads that accept on a unix and on a loopback socket, threads that wait for many
// connections with epoll, and clients that check every answer. No call is interrupted, no byte is lost.
// link: -pthread
// variants: -O0 | -O2
#include "hazard.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>

enum { CLIENTS = 4, MESSAGE = 64 };
struct Server {
  int listener, epoll, over;
  socklen_t length;
  union {
    struct sockaddr any;
    struct sockaddr_un local;
    struct sockaddr_in network;
  } address;
  pthread_t accepting, serving;
};
static struct Server servers[2];
static double all_end;

static int open_listener(struct Server *server, int family) {
  memset(&server->address, 0, sizeof server->address);
  server->address.any.sa_family = (sa_family_t)family;
  // A unix socket without a name gets one of its own; port 0 likewise.
  server->length = family == AF_UNIX ? sizeof(sa_family_t) : sizeof server->address.network;
  if (family == AF_INET) server->address.network.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  int fd = socket(family, SOCK_STREAM, 0);
  CHECK(fd >= 0 && bind(fd, &server->address.any, server->length) == 0 && listen(fd, 64) == 0);
  server->length = sizeof server->address;
  CHECK(getsockname(fd, &server->address.any, &server->length) == 0);
  return fd;
}

static void transform(unsigned char *message) {
  for (int i = 0; i < MESSAGE; ++i) message[i] = (unsigned char)(message[i] * 3 + work(i) + 1);
}
static void read_all(int fd, unsigned char *to) {
  for (size_t got = 0; got < MESSAGE;) {
    ssize_t n = read(fd, to + got, MESSAGE - got);
    CHECK(n > 0);
    got += (size_t)n;
  }
}

static void *accept_all(void *which) {
  struct Server *server = which;
  for (;;) {
    int fd = accept(server->listener, NULL, NULL);
    CHECK(fd >= 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    unsigned char kind;
    CHECK(read(fd, &kind, 1) == 1);
    if (kind == 'q') {
      uint64_t one = 1;
      close(fd);
      CHECK(write(server->over, &one, sizeof one) == sizeof one);
      return NULL;
    }
    CHECK(epoll_ctl(server->epoll, EPOLL_CTL_ADD, fd, &event) == 0);
  }
}
static void *serve_all(void *which) {
  struct Server *server = which;
  for (;;) {
    struct epoll_event events[8];
    int count = epoll_wait(server->epoll, events, 8, -1);
    CHECK(count > 0);
    for (int i = 0; i < count; ++i) {
      unsigned char message[MESSAGE];
      if (events[i].data.fd == server->over) return NULL;
      if (recv(events[i].data.fd, message, 1, MSG_PEEK) == 0) {
        close(events[i].data.fd);
        continue;
      }
      read_all(events[i].data.fd, message);
      transform(message);
      CHECK(write(events[i].data.fd, message, MESSAGE) == MESSAGE);
    }
  }
}
static void start(struct Server *server, int family) {
  server->listener = open_listener(server, family);
  server->epoll = epoll_create1(0);
  server->over = eventfd(0, 0);
  struct epoll_event event = {.events = EPOLLIN, .data.fd = server->over};
  CHECK(server->epoll >= 0 && server->over >= 0 && epoll_ctl(server->epoll, EPOLL_CTL_ADD, server->over, &event) == 0);
  server->accepting = start_thread(accept_all, server);
  server->serving = start_thread(serve_all, server);
}
static int dial(struct Server *server, unsigned char kind) {
  int fd = socket(server->address.any.sa_family, SOCK_STREAM, 0);
  CHECK(fd >= 0 && connect(fd, &server->address.any, server->length) == 0);
  CHECK(write(fd, &kind, 1) == 1);
  return fd;
}
static void stop(struct Server *server) {
  close(dial(server, 'q'));
  join_thread(server->accepting);
  join_thread(server->serving);
  close(server->listener), close(server->epoll), close(server->over);
}

static void *client(void *number) {
  uint32_t state = (uint32_t)(uintptr_t)number;
  for (int i = 0; i < 2000 && before(all_end); ++i) {
    int fd = dial(&servers[(uintptr_t)number % 2], 'c');
    for (int k = 0; k < 10; ++k) {
      unsigned char message[MESSAGE], expected[MESSAGE];
      for (int b = 0; b < MESSAGE; ++b) expected[b] = message[b] = (unsigned char)draw(&state);
      transform(expected);
      CHECK(write(fd, message, MESSAGE) == MESSAGE);
      read_all(fd, message);
      CHECK(memcmp(message, expected, MESSAGE) == 0);
    }
    close(fd);
  }
  return NULL;
}

int main(void) {
  pthread_t clients[CLIENTS];
  start(&servers[0], AF_UNIX);
  start(&servers[1], AF_INET);
  all_end = section(1);
  for (uintptr_t i = 0; i < CLIENTS; ++i) clients[i] = start_thread(client, (void *)i);
  for (int i = 0; i < CLIENTS; ++i) join_thread(clients[i]);
  for (int i = 0; i < 2; ++i) stop(&servers[i]);
  puts("every answer was right");
  return 0;
}
