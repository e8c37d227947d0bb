// SPDX-License-Identifier: MIT
// Binary trees that are built to the bottom, counted and freed again and again, beside one that
// stays: much allocation and little else.
#include <stdio.h>
#include <stdlib.h>

struct tree {
  struct tree *left, *right;
};

static struct tree *build(int depth) {
  struct tree *tree = malloc(sizeof *tree);
  tree->left = depth > 0 ? build(depth - 1) : NULL;
  tree->right = depth > 0 ? build(depth - 1) : NULL;
  return tree;
}
static int count(const struct tree *tree) { return tree->left ? 1 + count(tree->left) + count(tree->right) : 1; }
static void destroy(struct tree *tree) {
  if (tree->left) destroy(tree->left), destroy(tree->right);
  free(tree);
}

int main(int argc, char **argv) {
  const int depth = argc > 1 ? atoi(argv[1]) : 16;
  struct tree *stays = build(depth);
  long total = 0;
  for (int d = 4; d <= depth; d += 4)
    for (int i = 0; i < 1 << (depth - d + 3); ++i) {
      struct tree *tree = build(d);
      total += count(tree);
      destroy(tree);
    }
  printf("%ld %d\n", total, count(stays));
}
