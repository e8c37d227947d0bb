// SPDX-License-Identifier: MIT
// The load that runs really had, by runs of the same plan in which arrivals are as they come: the ratio of
// their mean rates of arrivals.
#pragma once

#include <cstddef>
#include <optional>

#include "stats/causal/loads.h"
#include "stats/causal/profile.h"

namespace stab::stats::causal {

// Of runs at `load` by those at `base`, both of Profile::loads; nothing if either has none in which something
// arrived. The interval is by the delta method, with the error of both: blocks are its clusters, since runs of
// a block have in common what differs from block to block. It is Student's, with the blocks of whichever of
// the two has fewer; below two blocks there is none. The base by itself is 1.
std::optional<Measured> had_by(const Profile& profile, std::size_t load, std::size_t base,
                               double alpha);

}  // namespace stab::stats::causal
