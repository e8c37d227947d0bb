// SPDX-License-Identifier: MIT
#include "runtime/start/region.h"

#include "runtime/epoch/epoch.h"

namespace stab::rt {
namespace {

constinit RegionClock plain{};
constinit NamedRegions named{};

}  // namespace

const RegionClock& plain_region() {
  return plain;
}
const NamedRegions& named_regions() {
  return named;
}

}  // namespace stab::rt

using namespace stab;

extern "C" __attribute__((visibility("default"))) void stab_begin() {
  rt::plain.begin();
}

extern "C" __attribute__((visibility("default"))) void stab_end() {
  rt::plain.end();
}

extern "C" __attribute__((visibility("default"))) void stab_begin_region(const char* name) {
  rt::named.begin(name);
}

extern "C" __attribute__((visibility("default"))) void stab_end_region(const char* name) {
  rt::named.end(name);
}

extern "C" __attribute__((visibility("default"))) void stab_randomize() {
  rt::randomize_now();
}
