// SPDX-License-Identifier: MIT
// The three designs: each adds its tables, effects and components to the analysis.
#pragma once

#include "stats/analysis.h"
#include "stats/notes.h"
#include "stats/prepare.h"

namespace stab::stats {

// y ~ block + a * b of one subject. `with_table`: not only the effects.
void analyse_factorial(const Prepared& data, const Subject& subject, bool with_table,
                       Analysis& analysis, Notes& notes);

// y ~ a * b + Error(subject / (a * b)). False if there are not two complete subjects.
bool analyse_within(const Prepared& data, Analysis& analysis, Notes& notes);

// y ~ a * b + Error(a:b:seed) of one subject.
void analyse_nested(const Prepared& data, const Subject& subject, Analysis& analysis, Notes& notes);

// The mean change in percent between the arms that share a seed, of one subject; see
// padding_study.h.
void analyse_padding(const Prepared& data, const Subject& subject, Analysis& analysis,
                     Notes& notes);

// The seeds of a subject as groups with one number each: their means. `groups` is ordered by cell,
// then seed.
std::vector<Group> seed_means(const Subject& subject);

}  // namespace stab::stats
