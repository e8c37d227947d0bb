// SPDX-License-Identifier: MIT
// A table whose hash function puts too many keys into a chain. The knob skips a part of each chain,
// as a better hash function would.
#include <vector>

#include "work.h"

namespace {

// All of it lies in the first cache, so that half of a chain takes half of the time.
constexpr unsigned long buckets = 4;
constexpr unsigned long keys = 1024;

struct Node {
  unsigned long key;
  const Node* next;
};

// Stops behind `most` nodes. The loop is one line, so that all of it is the line.
__attribute__((noinline)) long walk(const Node* node, unsigned long key, long most) {
  long seen = 0, found = 0;
  // clang-format off
  for (; node != nullptr && seen < most; node = node->next) ++seen, found += node->key == key;  // knob
  // clang-format on
  return seen + found;
}

}  // namespace

int main(int count, char** words) {
  const Bench bench(count, words);
  std::vector<Node> nodes(keys);
  std::vector<const Node*> table(buckets, nullptr);
  for (unsigned long i = 0; i < keys; ++i) {
    nodes[i] = {i, table[i % buckets]};
    table[i % buckets] = &nodes[i];
  }
  const long most = bench.faster(keys / buckets);
  unsigned long random = 1;
  long sum = 0;
  for (long i = 0; i < bench.visits(); ++i) {
    for (int look_up = 0; look_up < 1000; ++look_up) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      const unsigned long key = (random >> 33) % keys;
      sum += walk(table[key % buckets], key, most);
      BUSY(400);
    }
    STAB_PROGRESS("thousand");
  }
  return sum == 0;
}
