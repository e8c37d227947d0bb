// SPDX-License-Identifier: MIT
// Counts the primes below a bound with a segmented sieve: a few hot loops over a buffer that fits the cache.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { segment_size = 1 << 15 };

static unsigned char composite[segment_size];
static unsigned primes[8192];
static unsigned prime_count;

// All primes whose square is below the bound.
static void find_small_primes(unsigned long bound) {
  for (unsigned n = 2; (unsigned long)n * n < bound; ++n) {
    int is_prime = 1;
    for (unsigned i = 0; i < prime_count && primes[i] * primes[i] <= n; ++i)
      if (n % primes[i] == 0) is_prime = 0;
    if (is_prime) primes[prime_count++] = n;
  }
}

static unsigned long first_multiple(unsigned prime, unsigned long from) {
  const unsigned long square = (unsigned long)prime * prime;
  if (square >= from) return square;
  return (from + prime - 1) / prime * prime;
}

static void strike_out(unsigned long from, unsigned long to) {
  memset(composite, 0, sizeof composite);
  for (unsigned i = 0; i < prime_count; ++i)
    for (unsigned long n = first_multiple(primes[i], from); n < to; n += primes[i])
      composite[n - from] = 1;
}

static unsigned long count_primes(unsigned long bound) {
  unsigned long count = 0;
  for (unsigned long from = 2; from < bound; from += segment_size) {
    const unsigned long to = from + segment_size < bound ? from + segment_size : bound;
    strike_out(from, to);
    for (unsigned long n = from; n < to; ++n) count += !composite[n - from];
  }
  return count;
}

int main(int argc, char** argv) {
  const unsigned long bound = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000000;
  if (bound > 1000000000) return fputs("the bound is at most 1000000000\n", stderr), 1;
  find_small_primes(bound);
  printf("%lu primes below %lu\n", count_primes(bound), bound);
  return 0;
}
