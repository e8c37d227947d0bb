/* SPDX-License-Identifier: MIT
 * Writers insert rows into tables of their own, each in a database in memory.
 *   sqlite_writers WRITERS ROWS
 * Prints the mean time from row to row. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "sqlite3.h"
#include "stabilizer.h"

static long rows;

static void check(int status, sqlite3* database) {
  if (status == SQLITE_OK || status == SQLITE_DONE) return;
  fprintf(stderr, "sqlite_writers: %s\n", sqlite3_errmsg(database));
  exit(1);
}

static void* insert(void* unused) {
  sqlite3* database;
  sqlite3_stmt* statement;
  check(sqlite3_open(":memory:", &database), database);
  check(sqlite3_exec(database, "create table t(id integer primary key, word text, n integer)", 0, 0, 0), database);
  check(sqlite3_prepare_v2(database, "insert into t(word, n) values(?, ?)", -1, &statement, 0), database);
  for (long i = 0; i < rows; ++i) {
    /* The table stays small enough for what is measured not to be the memory's speed. */
    if (i % 100000 == 99999) check(sqlite3_exec(database, "delete from t", 0, 0, 0), database);
    char word[32];
    const int length = snprintf(word, sizeof word, "row %ld", i * 7919 % 100003);
    sqlite3_bind_text(statement, 1, word, length, SQLITE_TRANSIENT);
    sqlite3_bind_int64(statement, 2, i);
    check(sqlite3_step(statement), database);
    sqlite3_reset(statement);
    STAB_PROGRESS("row");
  }
  sqlite3_finalize(statement);
  sqlite3_close(database);
  return unused;
}

int main(int count, char** words) {
  if (count != 3 || atoi(words[1]) < 1 || atoi(words[1]) > 64) {
    fprintf(stderr, "usage: %s WRITERS ROWS\n", words[0]);
    return 2;
  }
  rows = atol(words[2]);
  const int writers = atoi(words[1]);
  pthread_t threads[64];
  struct timespec start, end;
  sqlite3_initialize();
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (int i = 0; i < writers; ++i)
    if (pthread_create(&threads[i], 0, insert, 0) != 0) return 1;
  for (int i = 0; i < writers; ++i) pthread_join(threads[i], 0);
  clock_gettime(CLOCK_MONOTONIC, &end);
  const double ns = 1e9 * (double)(end.tv_sec - start.tv_sec) + (double)(end.tv_nsec - start.tv_nsec);
  printf("ns_per_row %.1f\n", ns / (double)rows / writers);
  return 0;
}
