// SPDX-License-Identifier: MIT
// Every register holds its value while functions move: in hot loops of assembly that check all general, x87, SSE, AVX2 and
// AVX-512 registers (where the processor has them), control words, flags, the red zone and gs; and in vectorized code.
// variants: -O0 | -O2 | -O3 -ffast-math
#include "hazard.h"
#include <asm/prctl.h>
#include <immintrin.h>

enum { SPINS = 3000000 };

// r8 to r15, rbx, rdx, rsi, rdi and rbp against what they were given.
NOINLINE static void general(void) {
  uint64_t wrong = 0;
  __asm__ volatile(
      "pushq %%rbp\n  movq $0x1111111111111111, %%rbp\n  movq $0x2222222222222222, %%rbx\n  movq $0x3333333333333333, %%rdx\n"
      "  movq $0x4444444444444444, %%rsi\n  movq $0x5555555555555555, %%rdi\n  movq $-8, %%r8\n  movq $-9, %%r9\n"
      "  movq $-10, %%r10\n  movq $-11, %%r11\n  movq $-12, %%r12\n  movq $-13, %%r13\n  movq $-14, %%r14\n  movq $-15, %%r15\n"
      "  movl $3000000, %%ecx\n1:\n  decl %%ecx\n  jnz 1b\n"
      "  addq %%rbp, %%rbx\n  addq %%rbx, %%rdx\n  addq %%rdx, %%rsi\n  addq %%rsi, %%rdi\n  addq %%r8, %%rdi\n  addq %%r9, %%rdi\n"
      "  addq %%r10, %%rdi\n  addq %%r11, %%rdi\n  addq %%r12, %%rdi\n  addq %%r13, %%rdi\n  addq %%r14, %%rdi\n"
      "  addq %%r15, %%rdi\n  popq %%rbp\n  movq %%rdi, %%rax"
      : "=a"(wrong)
      :
      : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "cc", "memory");
  CHECK(wrong == 0xffffffffffffffffull - 92);
}

// The carry and the direction flag.
NOINLINE static void flags(void) {
  uint64_t f = 0;
  __asm__ volatile("movq $3000000, %%rcx\n  std\n  stc\n1:\n  leaq -1(%%rcx), %%rcx\n  jrcxz 2f\n  jmp 1b\n2:\n  pushfq\n  popq %0\n  cld"
                   : "=r"(f)
                   :
                   : "rcx", "cc", "memory");
  CHECK((f & 1) == 1 && (f & 0x400) != 0);
}

NOINLINE static void x87(void) {
  const double one = 1, two = 2, three = 3;
  unsigned short old, set = 0x0c7f, now = 0;
  double sum = 0;
  __asm__ volatile("fnstcw %0" : "=m"(old));
  __asm__ volatile("fldcw %2\n  fldl %3\n  fldl %4\n  fldl %5\n  fldpi\n  fld1\n  fldl %4\n  fldl %5\n"
                   "  movl $3000000, %%ecx\n1:\n  decl %%ecx\n  jnz 1b\n"
                   "  faddp\n  faddp\n  faddp\n  faddp\n  faddp\n  faddp\n  fstpl %0\n  fnstcw %1"
                   : "=m"(sum), "=m"(now)
                   : "m"(set), "m"(one), "m"(two), "m"(three)
                   : "ecx", "cc", "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "memory");
  __asm__ volatile("fldcw %0" ::"m"(old));
  CHECK(now == set);
  CHECK(sum > 15.1415 && sum < 15.1416);
}

// All registers of a width are loaded from a table, held through a spin, and stored into another.
NOINLINE static void sse(const unsigned char *in, unsigned char *out) {
  __asm__ volatile("movups (%0), %%xmm0\n  movups 16(%0), %%xmm1\n  movups 32(%0), %%xmm2\n  movups 48(%0), %%xmm3\n"
                   "  movups 64(%0), %%xmm4\n  movups 80(%0), %%xmm5\n  movups 96(%0), %%xmm6\n  movups 112(%0), %%xmm7\n"
                   "  movups 128(%0), %%xmm8\n  movups 144(%0), %%xmm9\n  movups 160(%0), %%xmm10\n  movups 176(%0), %%xmm11\n"
                   "  movups 192(%0), %%xmm12\n  movups 208(%0), %%xmm13\n  movups 224(%0), %%xmm14\n  movups 240(%0), %%xmm15\n"
                   "  movl $3000000, %%ecx\n1:\n  decl %%ecx\n  jnz 1b\n"
                   "  movups %%xmm0, (%1)\n  movups %%xmm1, 16(%1)\n  movups %%xmm2, 32(%1)\n  movups %%xmm3, 48(%1)\n"
                   "  movups %%xmm4, 64(%1)\n  movups %%xmm5, 80(%1)\n  movups %%xmm6, 96(%1)\n  movups %%xmm7, 112(%1)\n"
                   "  movups %%xmm8, 128(%1)\n  movups %%xmm9, 144(%1)\n  movups %%xmm10, 160(%1)\n  movups %%xmm11, 176(%1)\n"
                   "  movups %%xmm12, 192(%1)\n  movups %%xmm13, 208(%1)\n  movups %%xmm14, 224(%1)\n  movups %%xmm15, 240(%1)"
                   :
                   : "r"(in), "r"(out)
                   : "ecx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
#define AVX(n) "  vmovups " #n "*32(%0), %%ymm" #n "\n"
#define AVX_OUT(n) "  vmovups %%ymm" #n ", " #n "*32(%1)\n"
#define SIXTEEN(f) f(0) f(1) f(2) f(3) f(4) f(5) f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15)
#define SIXTEEN_MORE(f) f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23) f(24) f(25) f(26) f(27) f(28) f(29) f(30) f(31)
NOINLINE static void avx(const unsigned char *in, unsigned char *out) {
  __asm__ volatile(SIXTEEN(AVX) "  movl $3000000, %%ecx\n1:\n  decl %%ecx\n  jnz 1b\n" SIXTEEN(AVX_OUT) "  vzeroupper"
                   :
                   : "r"(in), "r"(out)
                   : "ecx", "cc", "memory", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                     "xmm11", "xmm12", "xmm13", "xmm14", "xmm15");
}
#define AVX512(n) "  vmovups " #n "*64(%0), %%zmm" #n "\n"
#define AVX512_OUT(n) "  vmovups %%zmm" #n ", " #n "*64(%1)\n"
__attribute__((target("avx512f,avx512bw"))) NOINLINE static void avx512(const unsigned char *in, unsigned char *out) {
  uint64_t masks = 0;
  __asm__ volatile(SIXTEEN(AVX512) SIXTEEN_MORE(AVX512)
                   "  movl $3000000, %%ecx\n  kmovd %%ecx, %%k1\n  kmovd %%ecx, %%k7\n1:\n  decl %%ecx\n  jnz 1b\n"
                   SIXTEEN(AVX512_OUT) SIXTEEN_MORE(AVX512_OUT) "  kaddd %%k1, %%k7, %%k2\n  kmovd %%k2, %%ecx\n  movq %%rcx, %2\n"
                   "  vzeroupper"
                   : "+r"(in), "+r"(out), "+m"(masks)
                   :
                   : "rcx", "cc", "memory", "k1", "k2", "k7", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
                     "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16", "xmm17", "xmm18", "xmm19", "xmm20",
                     "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30", "xmm31");
  CHECK(masks == 2 * SPINS);
}
static void held(void (*hold)(const unsigned char *, unsigned char *), int size) {
  static unsigned char in[2048], out[2048];
  for (int i = 0; i < size; ++i) in[i] = (unsigned char)(i * 31 + i / 7 + 1);
  memset(out, 0, sizeof out);
  hold(in, out);
  CHECK(memcmp(in, out, (size_t)size) == 0);
}

// Rounding upwards and flushing to zero hold, also in what is called.
NOINLINE static void control(void) {
  const unsigned old = _mm_getcsr(), set = 0xdf80;
  _mm_setcsr(set);
  for (int i = 0; i < 100; ++i) work_once();
  const unsigned now = _mm_getcsr();
  _mm_setcsr(old);
  CHECK((now & ~0x3fu) == set);
}

// A leaf whose locals lie below the stack pointer.
NOINLINE static void red_zone(void) {
  volatile uint64_t a[12];
  for (int i = 0; i < 12; ++i) a[i] = (uint64_t)i * 0x0101010101010101ull;
  for (volatile int spin = 0; spin < SPINS / 10; ++spin) {}
  uint64_t wrong = 0;
  for (int i = 0; i < 12; ++i) wrong |= a[i] ^ (uint64_t)i * 0x0101010101010101ull;
  if (wrong) __builtin_trap();
}

static void own_gs(void) {
  static uint64_t word = 0x600d;
  uint64_t value = 0;
  CHECK(syscall(SYS_arch_prctl, ARCH_SET_GS, &word) == 0);
  for (int i = 0; i < 200; ++i) {
    work_once();
    __asm__ volatile("movq %%gs:0, %0" : "=r"(value));
    CHECK(value == 0x600d);
  }
}

static float numbers[4096];
NOINLINE static double vectorized(void) {
  float sums[16] = {0};
  for (int round = 0; round < 40; ++round)
    for (int i = 0; i < 4096; i += 16)
      for (int k = 0; k < 16; ++k) sums[k] += numbers[i + k];
  double sum = 0;
  for (int k = 0; k < 16; ++k) sum += (double)sums[k];
  return sum;
}
__attribute__((target("avx2"))) NOINLINE static int with_avx2(void) {
  __m256i sum = _mm256_setzero_si256(), one = _mm256_set1_epi32(1), lanes[8];
  int total[8];
  for (int i = 0; i < 200000; ++i) sum = _mm256_add_epi32(_mm256_xor_si256(sum, one), _mm256_set1_epi32(i & 2));
  lanes[0] = sum;
  memcpy(total, lanes, sizeof total);
  for (int i = 1; i < 8; ++i) CHECK(total[i] == total[0]);
  return total[0];
}

int main(void) {
  const int has_avx2 = __builtin_cpu_supports("avx2"), has_avx512 = __builtin_cpu_supports("avx512bw");
  const int first = has_avx2 ? with_avx2() : 0;
  for (int i = 0; i < 4096; ++i) numbers[i] = (float)(i % 64);
  own_gs();
  for (double end = section(1); before(end);) {
    general();
    flags();
    x87();
    held(sse, 256);
    if (has_avx2) held(avx, 512);
    if (has_avx512) held(avx512, 2048);
    control();
    red_zone();
    CHECK(vectorized() == 40.0 * 64 * 2016);
    if (has_avx2) CHECK(with_avx2() == first);
  }
  puts("every register held");
  return 0;
}
