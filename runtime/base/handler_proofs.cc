// SPDX-License-Identifier: MIT
#include "runtime/base/handler_proofs.h"

#include "runtime/base/check.h"

namespace stab::rt {
namespace {

bool started;

}  // namespace

BeforeStart::BeforeStart() {
  STAB_ALWAYS(Handlers, 3, !started);
}

OutsideHandlers BeforeStart::outside() {
  STAB_ALWAYS(Handlers, 2, !started);
  return {};
}

void BeforeStart::end() {
  started = true;
}

}  // namespace stab::rt
