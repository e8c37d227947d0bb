// SPDX-License-Identifier: MIT
// Thread-local variables in all models, in the program and in a library.
// library: tls_library.c
// link: -pthread
// variants: -O0 | -O2 | -O2 -fPIC -ftls-model=global-dynamic | -O2 -fPIC -ftls-model=local-dynamic | -O2 -ftls-model=initial-exec | -O2 -fno-plt | -O2 -fPIC -mtls-dialect=gnu2 | -O2 -fno-pie -no-pie
#include <pthread.h>
#include <stdio.h>

static __thread int own = 3;
static __thread long block[4] = {1, 2, 3, 4};
__thread int exported = 5;
extern __thread int library_variable __attribute__((tls_model("global-dynamic")));
int library_bump(int by);

static void *work(void *argument) {
  for (int i = 0; i < 100; ++i) {
    own += i;
    block[i & 3] += own;
    exported ^= i;
    library_variable += library_bump(i & 3);
  }
  long *out = argument;
  *out = own + block[0] + block[1] + block[2] + block[3] + exported + library_variable;
  return NULL;
}

int main(void) {
  pthread_t thread[3];
  long result[4];
  for (int i = 0; i < 3; ++i) pthread_create(&thread[i], NULL, work, &result[i]);
  for (int i = 0; i < 3; ++i) pthread_join(thread[i], NULL);
  work(&result[3]);
  printf("%ld %ld %ld %ld %d\n", result[0], result[1], result[2], result[3], own);
  return 0;
}
