// SPDX-License-Identifier: MIT
// stab-postlink [--explain|--json] BINARY: runs the post-link step by itself, without the compiler
// driver.
#include <cstdio>
#include <string_view>

#include "instrumenter/postlink/postlink.h"

namespace {

int complain(const std::string& message) {
  std::fprintf(stderr, "stab-postlink: %s\n", message.c_str());
  return 1;
}

int show(const std::string& path, bool json) {
  const auto explanation = stab::instrumenter::explain(path);
  if (!explanation) return complain(explanation.error().message);
  std::fputs((json ? to_json(*explanation) : to_text(*explanation)).c_str(), stdout);
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const std::string_view option = count == 3 ? arguments[1] : "";
  if (count == 3 && (option == "--explain" || option == "--json"))
    return show(arguments[2], option == "--json");
  if (count != 2) return complain("usage: stab-postlink [--explain|--json] BINARY");
  const auto summary = stab::instrumenter::instrument(arguments[1], {});
  if (!summary) return complain(summary.error().message);
  std::printf("%lu of %lu functions can move, %lu of %lu bytes; table %lu bytes\n",
              summary->movable_functions, summary->functions, summary->movable_bytes,
              summary->text_bytes, summary->table_bytes);
  return 0;
}
