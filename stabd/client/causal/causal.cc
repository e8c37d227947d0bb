// SPDX-License-Identifier: MIT
#include "stabd/client/causal/causal.h"

#include <fmt/format.h>

#include <string>

#include "base/text.h"
#include "stabd/client/causal/words.h"
#include "stabd/client/exit_code.h"
#include "stabd/client/input.h"
#include "stabd/client/output.h"
#include "stats/causal/analyse.h"
#include "stats/causal/coz.h"

namespace stab::client::causal {
namespace {

using stats::causal::Profile;

Result<Profile> read_all(const std::vector<std::string>& paths) {
  Profile profile;
  for (const std::string& path : paths) {
    const auto input = Input::open(path);
    if (!input) return std::unexpected(input.error());
    if (auto read = stats::causal::read_coz(input->text(), profile); !read)
      return fail(fmt::format("{}: {}", one_line(path, 500), read.error().message));
  }
  return profile;
}

}  // namespace

Result<int> show_causal(const CausalOptions& options) {
  const auto profile = read_all(options.read);
  if (!profile) return std::unexpected(profile.error());
  // Written first: what cannot be analysed can be looked at.
  if (!options.coz.empty()) {
    const std::string text = stats::causal::as_coz(*profile);
    if (auto written = write_output(text, options.coz, Colours::none); !written)
      return std::unexpected(written.error());
  }
  const auto made =
      stats::causal::analyse(*profile, {.alpha = options.alpha, .seed = options.seed});
  if (!made) return std::unexpected(made.error());
  const std::string text = options.json ? as_json(*profile, *made, options.alpha)
                                        : as_text(*profile, *made, options.alpha);
  if (auto written = write_output(text, "", Colours::none); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client::causal
