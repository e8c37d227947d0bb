/* SPDX-License-Identifier: MIT
 * A load for a memcached on loopback that was started with -A, which it ends at the end.
 *   memcached_load PORT CONNECTIONS BATCHES
 * Each connection has four requests under way, for 100 of 10,000 items of 32 bytes. Prints the mean time from item to item. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { items = 10000, batch = 100, under_way = 4, most_connections = 16 };

static char value[33];

static void fail(const char* what) {
  perror(what);
  exit(1);
}

/* The server may not be there yet. */
static int connect_to(int port) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (int tries = 0; tries < 120000; ++tries) {
    const int made = socket(AF_INET, SOCK_STREAM, 0);
    const int one = 1;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(made, (struct sockaddr*)&address, sizeof address) == 0) return made;
    close(made);
    usleep(1000);
  }
  fail("memcached_load: nobody listens");
  return -1;
}

static void send_all(int to, const char* text, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(to, text, size, MSG_NOSIGNAL);
    if (sent <= 0) fail("memcached_load: cannot send");
    text += sent;
    size -= (size_t)sent;
  }
}

static void receive(int from, char* text, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(from, text, size, 0);
    if (got <= 0) fail("memcached_load: cannot receive");
    text += got;
    size -= (size_t)got;
  }
}

static void store_items(int to) {
  char line[128];
  for (int i = 0; i < items; ++i)
    send_all(to, line, (size_t)snprintf(line, sizeof line, "set key%05d 0 0 32 noreply\r\n%s\r\n", i, value));
  send_all(to, "version\r\n", 9);
  do receive(to, line, 1);
  while (line[0] != '\n');
}

static unsigned next = 1;

static void ask(int to) {
  char line[batch * 9 + 8] = "get";
  size_t size = 3;
  for (int i = 0; i < batch; ++i) {
    next = next * 1664525u + 1013904223u;
    size += (size_t)snprintf(line + size, sizeof line - size, " key%05u", (next >> 8) % items);
  }
  memcpy(line + size, "\r\n", 2);
  send_all(to, line, size + 2);
}

/* All of them are as long. */
static void take_answer(int from) {
  static char answer[batch * 55 + 5];
  receive(from, answer, sizeof answer);
  if (memcmp(answer + sizeof answer - 5, "END\r\n", 5) == 0) return;
  fprintf(stderr, "memcached_load: an item is not there\n");
  exit(1);
}

int main(int count, char** words) {
  const int connections = count == 4 ? atoi(words[2]) : 0;
  const long batches = count == 4 ? atol(words[3]) : 0;
  if (connections < 1 || connections > most_connections || batches < 1) {
    fprintf(stderr, "usage: %s PORT CONNECTIONS BATCHES\n", words[0]);
    return 2;
  }
  memset(value, 'x', 32);
  int to[most_connections];
  for (int i = 0; i < connections; ++i) to[i] = connect_to(atoi(words[1]));
  store_items(to[0]);
  struct timespec start, end;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (long i = 0; i < batches + under_way; ++i)
    for (int c = 0; c < connections; ++c) {
      if (i >= under_way) take_answer(to[c]);
      if (i < batches) ask(to[c]);
    }
  clock_gettime(CLOCK_MONOTONIC, &end);
  send_all(to[0], "shutdown\r\n", 10);
  const double ns = 1e9 * (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec);
  printf("ns_per_item %.1f\n", ns / (double)batches / connections / batch);
  return 0;
}
