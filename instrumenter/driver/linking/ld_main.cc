// SPDX-License-Identifier: MIT
// ld.stab: clang calls it in the place of lld. It links with the flags and objects that our runtime
// needs, and then runs the post-link step.
#include <fmt/format.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/fd.h"
#include "instrumenter/driver/linking/inputs.h"
#include "instrumenter/driver/linking/link_command.h"
#include "instrumenter/driver/process.h"

namespace stab::driver {
namespace {

// A folder for what only this link needs, made when it is asked for and removed at the end.
class Scratch {
 public:
  Scratch() = default;
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code error;
    if (!path_.empty()) std::filesystem::remove_all(path_, error);
  }
  Result<std::string> path();

 private:
  std::string path_;
};

Result<std::string> Scratch::path() {
  if (!path_.empty()) return path_;
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "szc-XXXXXX";
  if (mkdtemp(path.data()) == nullptr) return fail_errno("cannot make a folder in TMPDIR");
  return path_ = path;
}

bool is_regular(const std::string& path) {
  struct stat status{};
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

// Notes on stderr are for people: they ask for silence, or it is a configure script that looks.
bool speaks(const LinkArguments& link, const LinkSettings& settings) {
  return !settings.quiet && !is_probe(link.output);
}

Result<std::string> write_exports(const LinkArguments& link, Scratch& scratch) {
  if (!needs_exports_script(link)) return "";
  auto folder = scratch.path();
  if (!folder) return folder;
  std::string path = *folder + "/exports.map";
  if (auto written = write_file_atomically(path, exports_script()); !written)
    return std::unexpected(written.error());
  return path;
}

// The files and members that lld links, one on each line. Asked only where a member of an archive matters.
Result<std::string> list_linked(const LinkArguments& link, const LinkSettings& settings,
                                Scratch& scratch) {
  auto folder = scratch.path();
  if (!folder) return folder;
  Words words = plain_link(link, settings);
  // lld 22 refuses inputs that request an executable stack if it is not told to make one.
  words.insert(words.end(), {"-z", "execstack", "-o", *folder + "/listed", "--trace"});
  return read_output(words);
}

// Users of lld alone never get an executable stack, those of clang and GNU ld do: so say it.
Result<void> decide_stack(const LinkArguments& link, LinkSettings& settings, Scratch& scratch) {
  if (!is_lld(settings.linker)) return {};
  const auto why = why_executable_stack(link, [&] { return list_linked(link, settings, scratch); });
  if (!why)
    return fail(
        fmt::format("{} is not linked: szc cannot tell whether its stack must be executable "
                    "(-Wl,-z,execstack and -Wl,-z,noexecstack decide this), because an extra link "
                    "to list the linked files failed: {}",
                    link.output, why.error().message));
  settings.exec_stack = !why->empty();
  if (settings.exec_stack && speaks(link, settings))
    fmt::print(stderr, "szc: note: {} gets an executable stack (ld would do the same): {}\n",
               link.output, *why);
  return {};
}

// For a link whose stack cannot be decided. The link fails: with the linker's own message if it
// fails for the same reason as the extra link, and otherwise with `error`.
Result<Ending> link_undecided(const LinkArguments& link, LinkSettings settings,
                              const Error& error) {
  settings.exec_stack = true;  // as in list_linked
  auto linked = run_and_wait(plain_link(link, settings));
  if (!linked || !linked->success()) return linked;
  std::error_code ignored;
  if (is_regular(link.output)) std::filesystem::remove(link.output, ignored);
  return std::unexpected(error);
}

// Inputs are padded for any lld. Only lld itself can pad the code that it makes of bitcode.
void decide_padding(const LinkArguments& link, LinkSettings& settings) {
  if (!has_bitcode(link)) return;
  settings.linker_pads = is_lld(settings.linker) && identify(settings.linker).llvm >= padding_lld;
  if (!settings.linker_pads && speaks(link, settings))
    fmt::print(
        stderr,
        "szc: note: --stab-link-padding puts no gaps between the functions of {} that are compiled "
        "at link time (-flto). {} cannot add these gaps, but lld {} can: set STAB_CC=clang-{}\n",
        link.output, settings.linker, padding_lld, padding_lld);
}

// The pass runs in clang. Objects by another version of it, or another compiler, have none.
void tell_of_missing_pads(const LinkArguments& link, const LinkSettings& settings,
                          const Companions& companions) {
  if (environment(variable::stack) == "off" || settings.clang.empty() ||
      companions.passes.empty() || !speaks(link, settings))
    return;
  const Identity identity = identify(settings.clang);
  if (identity.kind == Identity::Kind::gcc)
    fmt::print(stderr,
               "szc: note: many stack frames in {} get small pads or none: szc's compiler pass, "
               "which makes room for pads, runs only in clang, but {} is {}. Functions still move. "
               "--stab-quiet hides this note\n",
               link.output, settings.clang, identity.name);
  else if (!pass_for(companions, settings.clang, identity).empty())
    return;
  else if (identity.is_release && !pass_of_version(companions, identity.llvm).empty())
    fmt::print(
        stderr,
        "szc: note: many stack frames in {} get small pads or none: {} does not load szc's pass "
        "for clang {}, perhaps because this clang was built with assertions. Functions still move. "
        "To get pads, build a pass with 'szc --stab-add-compiler {}'. --stab-quiet hides this "
        "note\n",
        link.output, settings.clang, identity.llvm, settings.clang);
  else
    fmt::print(stderr,
               "szc: note: many stack frames in {} get small pads or none: {} is {}, but szc has "
               "passes for {}. Functions still move. To get pads, set STAB_CC to one of these "
               "compilers, or build a pass with 'szc --stab-add-compiler {}'. --stab-quiet hides "
               "this note\n",
               link.output, settings.clang, identity.name, versions_with_pass(companions),
               settings.clang);
}

Result<Ending> link_and_instrument(const LinkArguments& link, const LinkSettings& settings,
                                   const Companions& companions, Scratch& scratch) {
  auto exports = write_exports(link, scratch);
  if (!exports) return std::unexpected(exports.error());
  setenv(variable::pass_phase, link.thin_lto ? "link-thin" : "link-full", 1);
  if (link.unoptimized_code) setenv(variable::stack, "off", 1);
  auto linked = run_and_wait(instrumented_link(link, settings, companions, *exports));
  if (!linked || !linked->success()) return linked;
  const bool loud = settings.strict || speaks(link, settings);
  Words postlink = postlink_command(link, companions);
  const std::string stack = environment(variable::stack);
  if (!stack.empty() && stack != "frame") postlink.emplace_back("--only-own-pads");
  if (!speaks(link, settings)) postlink.emplace_back("--quiet");
  auto done = run_and_wait(postlink, loud ? Errors::shown : Errors::dropped);
  if (done && done->success()) return done;
  if (settings.strict)
    return fail(fmt::format("{} cannot be randomized: the post-link step failed", link.output));
  if (loud)
    fmt::print(stderr, "szc: warning: {} is not randomized: the post-link step failed\n",
               link.output);
  return run_and_wait(plain_link(link, settings));
}

// The settings that szc, or the user, put into the environment.
Result<LinkSettings> read_link_settings() {
  LinkSettings settings;
  settings.linker = environment(variable::linker);
  settings.clang = environment(variable::used_clang);
  // A compiler that calls szc once more hands on what szc asked it for: ld.stab itself.
  if (real_path(settings.linker) == running_program("ld.stab")) settings.linker.clear();
  if (settings.linker.empty()) settings.linker = find_lld(environment(variable::used_clang));
  if (settings.linker.empty())
    return fail(fmt::format("there is no ld.lld-{0}; install lld-{0}", STAB_LLVM_VERSION));
  settings.off = is_set(variable::off);
  settings.strict = is_set(variable::strict);
  settings.quiet = is_set(variable::quiet);
  for (const auto& [name, seed] : {std::pair{variable::link_order, &settings.link_order},
                                   std::pair{variable::link_padding, &settings.link_padding}}) {
    const std::string text = environment(name);
    if (text.empty()) continue;
    auto value = parse_seed(name, text);
    if (!value) return std::unexpected(value.error());
    *seed = *value;
  }
  return settings;
}

// Why the output of this link cannot be randomized, as a phrase; "" if it can.
std::string obstacle(const LinkArguments& link, const LinkSettings& settings,
                     const Companions& companions) {
  if (!is_lld(settings.linker))
    return fmt::format("the linker is {}, not lld",
                       std::filesystem::path(settings.linker).filename().string());
  if (!link.obstacle.empty()) return link.obstacle;
  const bool library = link.kind == Output::library;
  if (companions.postlink.empty() || (library ? companions.library : companions.runtime).empty())
    return "szc's runtime or stab-link is not installed";
  std::error_code error;
  if (std::filesystem::exists(link.output, error) && !is_regular(link.output))
    return "the output is not a regular file";
  return "";
}

// Which flag about the order of sections has no effect on this link, and why; "" if all have one.
std::string ignored_order(const LinkArguments& link, const LinkSettings& settings) {
  if (!settings.link_order) return "";
  if (!is_lld(settings.linker))
    return fmt::format(
        "--stab-link-order has no effect on {}: only lld orders sections at random, but the linker "
        "is {}",
        link.output, std::filesystem::path(settings.linker).filename().string());
  if (!link.fixed_order.empty())
    return fmt::format(
        "in {}, {} sets the order of some functions, so --stab-link-order has no effect on these "
        "functions. Leave out one of the two flags",
        link.output, link.fixed_order);
  if (!link.call_order.empty())
    return fmt::format("{} has no effect on {}: --stab-link-order makes the order random",
                       link.call_order, link.output);
  return "";
}

// Links, and runs the post-link step if it is possible. If the step fails, makes the link that the
// user asked for, or returns an error under `strict`. Notes go to stderr.
Result<Ending> run_link(const LinkArguments& link, const LinkSettings& given,
                        const Companions& companions) {
  LinkSettings settings = given;
  settings.off = settings.off || is_tool_of_cargo(link);
  const std::string why_not = settings.off ? "" : obstacle(link, settings, companions);
  if (!why_not.empty() && settings.strict)
    return fail(fmt::format("{} cannot be randomized: {}", link.output, why_not));
  if (!why_not.empty() && speaks(link, settings))
    fmt::print(stderr, "szc: note: {} is not randomized: {}\n", link.output, why_not);
  if (const std::string ignored = ignored_order(link, settings); !ignored.empty()) {
    if (settings.strict) return fail(ignored);
    if (speaks(link, settings)) fmt::print(stderr, "szc: note: {}\n", ignored);
  }
  Scratch scratch;
  std::optional<LinkArguments> padded;
  if (settings.link_padding) decide_padding(link, settings);
  if (settings.link_padding && !settings.linker_pads) {
    auto folder = scratch.path();
    if (!folder) return std::unexpected(folder.error());
    auto words = pad_inputs(link, *settings.link_padding, *folder);
    if (!words) return std::unexpected(words.error());
    padded = parse_link_arguments(*words);
  }
  const LinkArguments& job = padded ? *padded : link;
  if (auto decided = decide_stack(link, settings, scratch); !decided)
    return link_undecided(job, settings, decided.error());
  if (settings.off || !why_not.empty()) return run_and_wait(plain_link(job, settings));
  if (link.wants_relocations) {
    const std::string ignored = fmt::format(
        "--emit-relocs has no effect on {}: the relocations do not describe moved code, so "
        "szc removes them. --stab-off keeps the relocations",
        link.output);
    if (settings.strict) return fail(ignored);
    if (speaks(link, settings)) fmt::print(stderr, "szc: note: {}\n", ignored);
  }
  tell_of_missing_pads(link, settings, companions);
  return link_and_instrument(job, settings, companions, scratch);
}

}  // namespace

}  // namespace stab::driver

namespace stab::driver {
namespace {

Result<Ending> run(const Words& words, const std::string& argv0) {
  auto settings = read_link_settings();
  if (!settings) return std::unexpected(settings.error());
  const LinkArguments link = parse_link_arguments(words);
  if (link.kind == Output::executable || link.kind == Output::library)
    return run_link(link, *settings, find_companions(running_program(argv0)));
  // A response file that is a pipe has been read, so the linker gets its words.
  Words command{settings->linker};
  command.insert(command.end(), link.words.begin(), link.words.end());
  return std::unexpected(become(command));
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
