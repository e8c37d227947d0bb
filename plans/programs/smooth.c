// SPDX-License-Identifier: MIT
// A filter whose window lies on the stack and slides by one sample each step, by vector copies that
// overlap: how fast they are depends on where the frame lies.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 64, kSamples = 512 };

__attribute__((noinline)) static double smooth(const double* samples, int steps) {
  double window[kWindow];
  double sum = 0;
  memcpy(window, samples, sizeof window);
  for (int i = 0; i < steps; ++i) {
    memmove(window, window + 1, sizeof window - sizeof window[0]);
    window[kWindow - 1] = samples[i % kSamples];
    sum += window[i * 7 % kWindow];
  }
  return sum / steps;
}

int main(int argc, char** argv) {
  static double samples[kSamples];
  int rounds = argc > 1 ? atoi(argv[1]) : 100;
  double sum = 0;
  for (int i = 0; i < kSamples; ++i) samples[i] = (i * 37 % 101) * 0.25;
  for (int round = 0; round < rounds; ++round) {
    sum += smooth(samples, 2000);
    samples[round % kSamples] += 0.125;
  }
  printf("%.6f\n", sum);
  return 0;
}
