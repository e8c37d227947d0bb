// SPDX-License-Identifier: MIT
// The members of a trial that have one column each, in the store and in exports. A member's type
// decides how it is written and read. The trial's levels, layout (records.h) and lists are not in
// this table.
#pragma once

#include <string_view>
#include <tuple>

#include "store/records.h"

namespace stab::store {

// The column's place in exports, whose columns of factors lie between the other two groups.
enum class Exported { nowhere, before_factors, after_factors };

template <auto Member>
struct TrialColumn {
  std::string_view name;
  Exported exported;
  static constexpr auto member = Member;
};

inline constexpr std::tuple trial_columns{
    TrialColumn<&Trial::experiment>{"experiment", Exported::nowhere},
    TrialColumn<&Trial::position>{"position", Exported::before_factors},
    TrialColumn<&Trial::attempt>{"attempt", Exported::before_factors},
    TrialColumn<&Trial::last>{"last", Exported::before_factors},
    TrialColumn<&Trial::block>{"block", Exported::before_factors},
    TrialColumn<&Trial::warmup>{"warmup", Exported::before_factors},
    TrialColumn<&Trial::benchmark>{"benchmark", Exported::before_factors},
    TrialColumn<&Trial::seed>{"seed", Exported::after_factors},
    TrialColumn<&Trial::status>{"status", Exported::after_factors},
    TrialColumn<&Trial::reason>{"reason", Exported::after_factors},
    TrialColumn<&Trial::exit_code>{"exit_code", Exported::after_factors},
    TrialColumn<&Trial::signal>{"signal", Exported::after_factors},
    TrialColumn<&Trial::started_ns>{"started_ns", Exported::after_factors},
    TrialColumn<&Trial::wall_ns>{"wall_ns", Exported::after_factors},
    TrialColumn<&Trial::user_ns>{"user_ns", Exported::after_factors},
    TrialColumn<&Trial::system_ns>{"system_ns", Exported::after_factors},
    TrialColumn<&Trial::max_rss_bytes>{"max_rss_bytes", Exported::after_factors},
    TrialColumn<&Trial::stdout_sha256>{"stdout_sha256", Exported::after_factors},
    TrialColumn<&Trial::build>{"build", Exported::after_factors},
    TrialColumn<&Trial::stderr_tail>{"stderr_tail", Exported::nowhere},
};

// Calls `visit(column)` for each in order.
template <class Visitor>
constexpr void for_each_trial_column(Visitor visit) {
  std::apply([&](const auto&... column) { (visit(column), ...); }, trial_columns);
}

}  // namespace stab::store
