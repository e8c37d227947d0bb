// SPDX-License-Identifier: MIT
#include "instrumenter/driver/linking/link_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "base/fd.h"
#include "base/hash.h"
#include "base/random.h"
#include "instrumenter/driver/compilers.h"
#include "instrumenter/link_flags.h"

namespace stab::driver {
namespace {

// link_flags.h is written for clang. A linker gets the part after -Wl,
template <class Flags>
void add_linker_flags(const Flags& flags, Words& words) {
  constexpr std::string_view kPrefix = "-Wl,";
  for (const std::string_view flag : flags) {
    if (flag.starts_with(kPrefix)) words.emplace_back(flag.substr(kPrefix.size()));
  }
}

bool is_strip_flag(std::string_view word) {
  return word == "-s" || word == "--strip-all" || word == "-strip-all" || word == "-S" ||
         word == "--strip-debug" || word == "-strip-debug";
}

// If a linker lies beside an added compiler and has the same version, it belongs to the same LLVM.
std::string pass_of_linker(const LinkSettings& settings, const Companions& companions) {
  std::error_code error;
  const auto folder_of = [&](const std::string& program) {
    return std::filesystem::canonical(program, error).parent_path();
  };
  const Identity linker = identify(settings.linker);
  if (folder_of(settings.clang) == folder_of(settings.linker) && !error) {
    const Identity clang = identify(settings.clang);
    std::string added = added_pass(companions, settings.clang, clang);
    if (!added.empty() && clang.llvm == linker.llvm) return added;
  }
  return pass_for(companions, settings.linker, linker);
}

// lld's cache of ThinLTO holds the code that the pass has changed, but lld does not look at the pass
// when it searches there. So each pass, with each of its settings, has a sub-folder of its own. Links
// without a pass use the user's folder itself.
std::string with_own_cache(const std::string& word, const std::string& pass) {
  constexpr std::string_view flag = "--thinlto-cache-dir=";  // lld accepts no other spelling
  if (pass.empty() || !word.starts_with(flag) || word.size() == flag.size()) return word;
  constexpr std::size_t largest_pass = std::size_t{1} << 30;
  constexpr std::size_t digits = 16;
  const std::string maker =
      fmt::format("{}\n{}\n{}", environment(variable::stack), environment(variable::pass_phase),
                  read_file(pass, largest_pass).value_or(pass));
  return fmt::format("{}/szc-{}", word, sha256_hex(maker).substr(0, digits));
}

constexpr std::string_view export_flag = "-Wl,--export-dynamic-symbol=";

bool is_runtimes(std::string_view name) {
  return std::ranges::any_of(instrumenter::executable_link_flags, [&](std::string_view flag) {
    return flag.starts_with(export_flag) && flag.substr(export_flag.size()) == name;
  });
}

// lld searches archives for __wrap_NAME only if NAME is not weak, but the runtime's object defines
// some names (pthread_create) as weak symbols.
void add_wrappers(const Words& user, Words& words) {
  const auto add = [&](std::string_view name) {
    if (is_runtimes(name)) words.push_back(fmt::format("--undefined=__wrap_{}", name));
  };
  for (std::size_t i = 0; i < user.size(); ++i) {
    std::string_view word = user[i];
    if (!word.starts_with("-")) continue;
    word.remove_prefix(word.starts_with("--") ? 2 : 1);
    constexpr std::string_view with_name = "wrap=";
    if (word.starts_with(with_name))
      add(word.substr(with_name.size()));
    else if (word == "wrap" && i + 1 < user.size())
      add(user[i + 1]);
  }
}

// The post-link step needs local symbols, because they name static functions.
bool drops_symbols(std::string_view word) {
  return word == "-x" || word == "--discard-all" || word == "-discard-all";
}

// The position of our object: behind the user's inputs, before the end files of the C runtime.
std::size_t end_of_inputs(const LinkArguments& link) {
  for (const std::size_t word : link.inputs) {
    const std::string name = std::filesystem::path(link.words[word]).filename();
    if (name.starts_with("crtend") || name == "crtn.o") return word;
  }
  return link.words.size();
}

// lld's --shuffle-sections takes the seed from the clock for 0, and reverses the order for -1. Its
// flag for padding takes any number.
std::uint32_t order_seed(std::uint64_t seed) {
  constexpr std::uint64_t kValid = 0xfffffffe;
  return static_cast<std::uint32_t>(1 + derive(seed, "link_order") % kValid);
}

}  // namespace

Words lld_flags(const LinkSettings& settings) {
  Words words{"--undefined-version"};
  if (settings.exec_stack) words.insert(words.end(), {"-z", "execstack"});
  if (settings.linker_pads && settings.link_padding)
    words.push_back(
        fmt::format("--randomize-section-padding={}", order_seed(*settings.link_padding)));
  if (!settings.link_order) return words;
  // .init_array and similar sections are not shuffled, because their order has a meaning.
  for (const char* sections : {".text*", ".rodata*", ".data*", ".bss*"})
    words.push_back(
        fmt::format("--shuffle-sections={}={}", sections, order_seed(*settings.link_order)));
  return words;
}

namespace {

// In a program that was compiled with a profile, lld orders the hot functions by their calls, and
// would shuffle only the others. lld obeys the last of its flags about this order.
void add_last_flags(const LinkSettings& settings, Words& words) {
  if (settings.link_order) words.emplace_back("--no-call-graph-profile-sort");
}

}  // namespace

bool needs_exports_script(const LinkArguments& link) {
  return link.kind == Output::executable && !link.version_script.empty();
}

std::string exports_script() {
  std::string names;
  for (const std::string_view flag : instrumenter::executable_link_flags) {
    if (flag.starts_with(export_flag))
      names += fmt::format(" {};", flag.substr(export_flag.size()));
  }
  return fmt::format("{{ global:{} }};\n", names);
}

Words plain_link(const LinkArguments& link, const LinkSettings& settings) {
  Words words{settings.linker};
  if (is_lld(settings.linker)) {
    const Words flags = lld_flags(settings);
    words.insert(words.end(), flags.begin(), flags.end());
  }
  words.insert(words.end(), link.words.begin(), link.words.end());
  if (is_lld(settings.linker)) add_last_flags(settings, words);
  return words;
}

Words instrumented_link(const LinkArguments& link, const LinkSettings& settings,
                        const Companions& companions, const std::string& exports) {
  Words words{settings.linker};
  const Words flags = lld_flags(settings);
  words.insert(words.end(), flags.begin(), flags.end());
  add_linker_flags(instrumenter::link_flags, words);
  const bool library = link.kind == Output::library;
  if (!library) add_wrappers(link.words, words);
  if (!library) add_linker_flags(instrumenter::executable_link_flags, words);
  const std::string pass = pass_of_linker(settings, companions);
  if (!pass.empty()) words.push_back("--load-pass-plugin=" + pass);
  if (!exports.empty()) words.push_back("--version-script=" + exports);
  const std::string& object = library ? companions.library : companions.runtime;
  const std::size_t end = end_of_inputs(link);
  for (std::size_t i = 0; i < link.words.size(); ++i) {
    if (i == end) words.push_back(object);
    if (!is_strip_flag(link.words[i]) && !drops_symbols(link.words[i]))
      words.push_back(with_own_cache(link.words[i], pass));
  }
  if (end == link.words.size()) words.push_back(object);
  add_last_flags(settings, words);
  return words;
}

Words postlink_command(const LinkArguments& link, const Companions& companions) {
  Words words{companions.postlink, "instrument", link.output};
  if (link.strip_all) words.emplace_back("--strip-all");
  if (link.strip_debug) words.emplace_back("--strip-debug");
  return words;
}

}  // namespace stab::driver
