/* SPDX-License-Identifier: MIT
   Compiles arithmetic expressions to a small byte code and runs it: a recursive parser, a switch in a loop. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum op { PUSH, LOAD, ADD, SUB, MUL, DIV, NEG, END };

struct code {
  int64_t *words;
  size_t length, room;
};

static void emit(struct code *code, int64_t word) {
  if (code->length == code->room) {
    code->room = code->room ? code->room * 2 : 16;
    code->words = realloc(code->words, code->room * sizeof *code->words);
    if (!code->words) exit(1);
  }
  code->words[code->length++] = word;
}

static const char *sum(const char *s, struct code *code);

static const char *primary(const char *s, struct code *code) {
  if (*s == '(') return sum(s + 1, code) + 1;
  if (*s == '-') {
    s = primary(s + 1, code);
    emit(code, NEG);
    return s;
  }
  if (*s >= 'a' && *s <= 'z') {
    emit(code, LOAD);
    emit(code, *s - 'a');
    return s + 1;
  }
  int64_t number = 0;
  while (*s >= '0' && *s <= '9') number = number * 10 + (*s++ - '0');
  emit(code, PUSH);
  emit(code, number);
  return s;
}

static const char *product(const char *s, struct code *code) {
  s = primary(s, code);
  while (*s == '*' || *s == '/') {
    enum op op = *s == '*' ? MUL : DIV;
    s = primary(s + 1, code);
    emit(code, op);
  }
  return s;
}

static const char *sum(const char *s, struct code *code) {
  s = product(s, code);
  while (*s == '+' || *s == '-') {
    enum op op = *s == '+' ? ADD : SUB;
    s = product(s + 1, code);
    emit(code, op);
  }
  return s;
}

/* Unsigned arithmetic wraps, so every expression has a value. */
static int64_t divide(int64_t a, int64_t b) { return b == 0 || (a == INT64_MIN && b == -1) ? 0 : a / b; }

static int64_t run(const struct code *code, const int64_t *variables) {
  int64_t stack[64], *top = stack;
  for (const int64_t *word = code->words;;) {
    uint64_t a, b;
    switch ((enum op)*word++) {
      case PUSH: *top++ = *word++; break;
      case LOAD: *top++ = variables[*word++]; break;
      case NEG: top[-1] = (int64_t)(0 - (uint64_t)top[-1]); break;
      case DIV: --top; top[-1] = divide(top[-1], top[0]); break;
      case ADD: a = (uint64_t)top[-2], b = (uint64_t)top[-1]; *--top = 0; top[-1] = (int64_t)(a + b); break;
      case SUB: a = (uint64_t)top[-2], b = (uint64_t)top[-1]; *--top = 0; top[-1] = (int64_t)(a - b); break;
      case MUL: a = (uint64_t)top[-2], b = (uint64_t)top[-1]; *--top = 0; top[-1] = (int64_t)(a * b); break;
      case END: return top[-1];
    }
  }
}

int main(int argc, char **argv) {
  static const char *const expressions[] = {
      "a*b+c*(d-3)/(a+1)",        "((a+b)*(c+d)-(a-b)*(c-d))/7", "-a*-b*-c+(d/3-a/5)*11",
      "a+b*c-d/(1+a*a)+b*b/(c+2)", "(a*31+b)*31+c-(d*17+a)*13",   "((((a+1)*b+2)*c+3)*d+4)/(b+5)",
  };
  enum { count = sizeof expressions / sizeof *expressions };
  long rounds = argc > 1 ? atol(argv[1]) : 1000000;
  struct code programs[count] = {0};
  for (int i = 0; i < count; ++i) {
    sum(expressions[i], &programs[i]);
    emit(&programs[i], END);
  }
  uint64_t digest = 0;
  int64_t variables[26] = {1, 2, 3, 4};
  for (long round = 0; round < rounds; ++round) {
    int64_t value = run(&programs[round % count], variables);
    digest = digest * 1099511628211u + (uint64_t)value;
    variables[round % 4] = (int64_t)(digest >> 40) - 4000;
  }
  printf("%016llx\n", (unsigned long long)digest);
  for (int i = 0; i < count; ++i) free(programs[i].words);
  return 0;
}
