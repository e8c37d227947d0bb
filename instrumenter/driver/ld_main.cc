// SPDX-License-Identifier: MIT
// ld.stab: clang calls it in the place of lld. It links with what our runtime needs, then runs the
// post-link step.
#include <fmt/format.h>
#include <sys/stat.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "instrumenter/driver/command.h"
#include "instrumenter/driver/link_command.h"
#include "instrumenter/driver/padding.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {
namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_set(const char* name) {
  const std::string value = setting(name);
  return !value.empty() && value != "0";
}

Result<std::optional<std::uint64_t>> seed(const char* name) {
  const std::string text = setting(name);
  if (text.empty()) return std::nullopt;
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size())
    return fail(fmt::format("{}={}: the seed is a whole number from 0 to 2^64 - 1", name, text));
  return value;
}

Result<LinkSettings> read_settings() {
  LinkSettings settings;
  settings.linker = setting(variable::linker);
  if (settings.linker.empty()) settings.linker = find_lld(setting(variable::used_clang));
  if (settings.linker.empty()) return fail("there is no ld.lld-19; install lld-19");
  settings.off = is_set(variable::off);
  settings.strict = is_set(variable::strict);
  settings.quiet = is_set(variable::quiet);
  auto order = seed(variable::link_order);
  auto padding = seed(variable::link_padding);
  if (!order) return std::unexpected(order.error());
  if (!padding) return std::unexpected(padding.error());
  settings.link_order = *order;
  settings.link_padding = *padding;
  return settings;
}

// Why this link cannot be instrumented, "" if it can.
std::string obstacle(const LinkArguments& link, const LinkSettings& settings,
                     const Companions& companions) {
  if (!is_lld(settings.linker))
    return fmt::format("it is linked by {}, not by lld",
                       std::filesystem::path(settings.linker).filename().string());
  if (!link.obstacle.empty()) return link.obstacle;
  const bool library = link.kind == Output::library;
  if (companions.postlink.empty() || (library ? companions.library : companions.runtime).empty())
    return "our libraries or stab-link are not installed";
  return "";
}

// A folder for padded copies, removed at the end.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  Result<std::string> make();

 private:
  std::string path_;
};

Result<std::string> Scratch::make() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "szc-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail_errno("cannot make a folder for padded objects");
  path_ = path;
  return path;
}

bool is_regular(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

Result<Ending> link_plainly(const LinkArguments& link, const LinkSettings& settings) {
  return run_and_wait(plain_link(link, settings));
}

// On failure of the step the user's own link is made: nothing of ours is in it.
Result<Ending> link_and_instrument(const LinkArguments& link, const LinkSettings& settings,
                                   const Companions& companions) {
  auto linked = run_and_wait(instrumented_link(link, settings, companions));
  if (!linked || !linked->success() || !is_regular(link.output)) return linked;
  auto done = run_and_wait(postlink_command(link, companions));
  if (done && done->success()) return done;
  fmt::print(stderr, "szc: {}: {} is not randomized: the post-link step failed\n",
             settings.strict ? "error" : "warning", link.output);
  if (settings.strict) return Ending{.status = 1 << 8};
  return link_plainly(link, settings);
}

Result<Ending> run(const Words& words, const std::string& argv0) {
  auto settings = read_settings();
  if (!settings) return std::unexpected(settings.error());
  LinkArguments link = parse_link_arguments(words);
  const bool ours = link.kind == Output::executable || link.kind == Output::library;
  if (!ours) {
    Words command{settings->linker};
    command.insert(command.end(), words.begin(), words.end());
    return std::unexpected(become(command));
  }
  const Companions companions = find_companions(running_program(argv0));
  const std::string why_not = obstacle(link, *settings, companions);
  if (!why_not.empty() && !settings->off && settings->strict)
    return fail(fmt::format("{} cannot be randomized: {}", link.output, why_not));
  if (!why_not.empty() && !settings->off && !settings->quiet && !is_probe(link.output))
    fmt::print(stderr, "szc: note: {} is not randomized: {}\n", link.output, why_not);
  Scratch scratch;
  if (settings->link_padding) {
    auto folder = scratch.make();
    if (!folder) return std::unexpected(folder.error());
    auto padded = pad_inputs(link, *settings->link_padding, *folder);
    if (!padded) return std::unexpected(padded.error());
    link = parse_link_arguments(*padded);
  }
  if (settings->off || !why_not.empty()) return link_plainly(link, *settings);
  return link_and_instrument(link, *settings, companions);
}

}  // namespace
}  // namespace stab::driver

int main(int argc, char** argv) {
  const std::string argv0 = argc > 0 ? argv[0] : "ld.stab";
  const stab::driver::Words words(argv + (argc > 0 ? 1 : 0), argv + argc);
  const auto ending = stab::driver::run(words, argv0);
  if (!ending) {
    fmt::print(stderr, "szc: error: {}\n", ending.error().message);
    return 1;
  }
  stab::driver::end_like(*ending);
}
