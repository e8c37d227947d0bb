// SPDX-License-Identifier: MIT
// The load that runs really had, by runs in which arrivals are as they come: the ratio of their mean rates
// of arrivals. Intervals have the error of both.
#pragma once

#include <cstddef>
#include <optional>

#include "stats/causal/loads.h"
#include "stats/causal/profile.h"

namespace stab::stats::causal {

// Of runs at `load` by those of the load at which arrivals gain nothing, or if there are none by the one run
// that Profile::base_rate is of. Nothing where neither is there.
std::optional<Measured> had_of(const Profile& profile, std::size_t load, double alpha);

// Of runs at `load` by those at `base`, both of Profile::loads; nothing if either has none in which something
// arrived. The interval is by the delta method: blocks are its clusters, since runs of a block have in common
// what differs from block to block. It is Student's, with the blocks of whichever of the two has fewer; below
// two blocks there is none. The base by itself is 1.
std::optional<Measured> had_by(const Profile& profile, std::size_t load, std::size_t base,
                               double alpha);

// By one run with this rate, above 0. One run does not say how far it is from others: it is taken to vary, by
// share, as those at `load` do from block to block.
std::optional<Measured> had_by_one(const Profile& profile, std::size_t load, double base_rate,
                                   double alpha);

}  // namespace stab::stats::causal
