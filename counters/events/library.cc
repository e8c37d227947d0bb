// SPDX-License-Identifier: MIT
#include "counters/events/library.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

namespace stab::counters {
namespace {

constexpr const char* file = "libpfm.so.4";

Result<Library> load() {
  void* const handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr)
    return fail(fmt::format("{} names the events, but it cannot be loaded: install libpfm4", file));
  const char* missing = nullptr;
  const auto function = [&](auto*& pointer, const char* name) {
    pointer = reinterpret_cast<std::remove_reference_t<decltype(pointer)>>(dlsym(handle, name));
    if (pointer == nullptr) missing = name;
  };
  Library library{};
  function(library.initialize, "pfm_initialize");
  function(library.strerror, "pfm_strerror");
  function(library.get_pmu_info, "pfm_get_pmu_info");
  function(library.get_event_info, "pfm_get_event_info");
  function(library.get_event_next, "pfm_get_event_next");
  function(library.get_event_attr_info, "pfm_get_event_attr_info");
  function(library.get_os_event_encoding, "pfm_get_os_event_encoding");
  if (missing != nullptr) return fail(fmt::format("{} has no function {}", file, missing));
  if (library.initialize() != PFM_SUCCESS) return fail("libpfm does not know this machine");
  return library;
}

}  // namespace

const Result<Library>& libpfm() {
  static const Result<Library> library = load();
  return library;
}

}  // namespace stab::counters
