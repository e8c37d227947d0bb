// SPDX-License-Identifier: MIT
// Inside this folder errors are exceptions, as SQLiteCpp's are; guarded() turns all of them into
// values at the interface.
#pragma once

#include <SQLiteCpp/SQLiteCpp.h>

#include <concepts>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "store/store.h"

namespace stab::store {

class Failure : public std::exception {
 public:
  explicit Failure(StoreError error) : error_(std::move(error)) {}
  [[nodiscard]] const char* what() const noexcept override { return error_.message.c_str(); }
  [[nodiscard]] const StoreError& error() const { return error_; }

 private:
  StoreError error_;
};

[[noreturn]] void refuse(std::string message);

inline constexpr const char* checksum_problem = "its content does not match its checksum";

// For a row that contradicts its checksum or its readings, with the advice what to do (S4).
[[noreturn]] void refuse_damaged(const Damage& damage);

// SQLite found that bytes of the file make no sense: of a row, or of the file's structure.
bool is_corrupt(const SQLite::Exception& error);

// The message starts with `what`: "cannot store a trial".
StoreError explain(const std::exception& error, std::string_view what, std::string_view path);

template <std::invocable F>
auto guarded(std::string_view what, std::string_view path, F&& action)
    -> Outcome<std::invoke_result_t<F>> {
  try {
    if constexpr (std::is_void_v<std::invoke_result_t<F>>) {
      std::forward<F>(action)();
      return {};
    } else {
      return std::forward<F>(action)();
    }
  } catch (const std::exception& error) {
    return std::unexpected(explain(error, what, path));
  }
}

}  // namespace stab::store
