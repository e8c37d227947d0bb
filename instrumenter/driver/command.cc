// SPDX-License-Identifier: MIT
#include "instrumenter/driver/command.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "instrumenter/driver/link_arguments.h"
#include "instrumenter/driver/process.h"
#include "instrumenter/link_flags.h"

namespace stab::driver {
namespace {

const std::array<std::string, 14> kOwnNames = {
    "--stab-help",         "--stab-version", "--stab-print",
    "--stab-off",          "--stab-quiet",   "--stab-strict",
    "--stab-explain",      "--stab-json",    "--stab-link-order",
    "--stab-link-padding", "--stab-stack",   "--stab-add-compiler",
    "--stab-compilers",    "--stab-cc"};

constexpr std::string_view kLdPath = "--ld-path=";

bool takes_next(std::string_view option) {
  const auto options = options_with_next();
  return std::ranges::find(options, option) != options.end();
}

bool is_header(const std::string& file) {
  static constexpr auto endings = std::to_array<std::string_view>(
      {".h", ".hh", ".H", ".hp", ".hxx", ".hpp", ".HPP", ".h++", ".tcc"});
  return std::ranges::any_of(endings, [&](std::string_view each) { return file.ends_with(each); });
}

bool takes_json(Action action) {
  return action == Action::explain || action == Action::add_compiler || action == Action::compilers;
}

constexpr std::string_view removed_stack_mode = "byte";

// `given` is the flag or the variable that has this value.
Result<void> check_stack_mode(std::string_view given, std::string_view mode) {
  if (mode == "frame" || mode == "table" || mode == "off" || mode == removed_stack_mode) return {};
  return fail(fmt::format("{}={}: {} must be frame, table or off", given, mode, given));
}

// Walks over the expanded arguments once and collects what szc has to know.
class Parser {
 public:
  Result<Arguments> run(const Words& given);

 private:
  [[nodiscard]] bool has_next() const { return at_ + 1 < words_.size(); }
  Result<void> own(std::string_view word);
  Result<void> own_seed(std::string_view name, std::string_view value);
  void clang(const std::string& word);
  void note_option(const std::string& word);

  Words words_;
  std::size_t at_ = 0;
  bool taken_out_ = false;
  bool options_over_ = false;
  bool input_ = false;    // there is an input for a linker, which a header to be precompiled is not
  bool headers_ = false;  // -x says that the following inputs are headers
  bool stops_ = false;
  Arguments result_;
};

Result<void> Parser::own_seed(std::string_view name, std::string_view value) {
  auto seed = parse_seed(name, value);
  if (!seed) return std::unexpected(seed.error());
  (name == "--stab-link-order" ? result_.own.link_order : result_.own.link_padding) = *seed;
  return {};
}

Result<void> Parser::own(std::string_view word) {
  taken_out_ = true;
  OwnFlags& own = result_.own;
  const std::size_t equal = word.find('=');
  const std::string_view name = word.substr(0, equal);
  if (name == "--stab-link-order" || name == "--stab-link-padding")
    return own_seed(name, equal == std::string_view::npos ? "" : word.substr(equal + 1));
  if (name == "--stab-cc") {
    own.compiler = equal == std::string_view::npos ? "" : word.substr(equal + 1);
    if (own.compiler.empty()) return fail("--stab-cc needs a compiler: --stab-cc=gcc");
    return {};
  }
  if (name == "--stab-stack") {
    own.stack = equal == std::string_view::npos ? "" : word.substr(equal + 1);
    return check_stack_mode(name, own.stack);
  }
  if (word == "--stab-explain") {
    if (!has_next()) return fail("--stab-explain needs a binary: szc --stab-explain BINARY");
    own.action = Action::explain;
    own.named = words_[++at_];
    return {};
  }
  if (word == "--stab-add-compiler") {
    if (!has_next())
      return fail("--stab-add-compiler needs a clang: szc --stab-add-compiler CLANG");
    own.action = Action::add_compiler;
    own.named = words_[++at_];
    return {};
  }
  if (word == "--stab-compilers") return own.action = Action::compilers, Result<void>{};
  if (word == "--stab-help") return own.action = Action::help, Result<void>{};
  if (word == "--stab-version") return own.action = Action::version, Result<void>{};
  const std::array<std::pair<std::string_view, bool*>, 5> switches = {
      {{"--stab-off", &own.off},
       {"--stab-strict", &own.strict},
       {"--stab-quiet", &own.quiet},
       {"--stab-print", &own.print},
       {"--stab-json", &own.json}}};
  for (const auto& [flag, value] : switches) {
    if (word == flag) return *value = true, Result<void>{};
  }
  const std::string near = nearest(name, kOwnNames);
  return fail(fmt::format("there is no flag {}{}; --stab-help lists szc's own flags", word,
                          near.empty() ? "" : fmt::format(" (did you mean {}?)", near)));
}

void Parser::note_option(const std::string& word) {
  const auto value_of = [&](std::string_view prefix) -> std::optional<std::string> {
    if (!word.starts_with(prefix)) return std::nullopt;
    return word.substr(prefix.size());
  };
  if (auto v = value_of("-fuse-ld=")) result_.linker = *v;
  if (auto v = value_of("-x")) headers_ = v->ends_with("-header");
  if (word.starts_with("-Wl,")) input_ = true;
  if (word == "-flto" || word.starts_with("-flto=")) result_.lto = true;
  if (word == "-fno-lto") result_.lto = false;
  if (word == "-emit-llvm") result_.bitcode = true;
  if (word == "-fembed-bitcode") result_.embeds_bitcode = true;
  if (word == "-fembed-bitcode-marker") result_.embeds_bitcode = false;
  if (auto v = value_of("-fembed-bitcode="))
    result_.embeds_bitcode = *v == "all" || *v == "bitcode";
  if (auto v = value_of("--target=")) result_.target = *v;
  if (auto v = value_of("--driver-mode="); v && *v != "gcc" && *v != "g++") result_.verbatim = true;
  if (auto v = value_of("-B"); v && !v->empty()) result_.prefixes.push_back(*v);
  if (stops_before_link(word)) stops_ = true;
}

void Parser::clang(const std::string& word) {
  result_.clang.push_back(word);
  if (options_over_ || word == "-" || !word.starts_with('-')) {
    input_ = input_ || !(headers_ || is_header(word));
  } else if (word == "--") {
    options_over_ = true;
  } else if (takes_next(word) && has_next()) {
    const std::string& value = words_[++at_];
    result_.clang.push_back(value);
    if (word == "-target") result_.target = value;
    if (word == "-B" || word == "--prefix") result_.prefixes.push_back(value);
    if (word == "-l" || word == "-Xlinker") input_ = true;
    if (word == "-x") headers_ = value.ends_with("-header");
  } else {
    note_option(word);
    if (word.starts_with("-l")) input_ = true;
  }
}

Result<Arguments> Parser::run(const Words& given) {
  if (!given.empty() && given[0].starts_with("-cc1")) {
    result_.verbatim = true;
    result_.clang = given;
    return result_;
  }
  bool only_once = false;
  words_ = expand_response_files(given, &only_once);
  for (at_ = 0; at_ < words_.size(); ++at_) {
    const std::string& word = words_[at_];
    if (!options_over_ && word.starts_with("--stab-")) {
      if (auto done = own(word); !done) return std::unexpected(done.error());
    } else if (!options_over_ && word.starts_with(kLdPath)) {
      taken_out_ = true;
      result_.ld_path = word.substr(kLdPath.size());
    } else if (takes_json(result_.own.action) && word == "--json") {
      result_.own.json = true;
    } else {
      clang(word);
    }
  }
  result_.links = input_ && !stops_;
  result_.expanded = result_.clang;
  // clang reads response files itself if they contain no flag of ours and can be read again.
  if (!taken_out_ && !only_once) result_.clang = given;
  return result_;
}

}  // namespace

Result<Arguments> parse_arguments(const Words& arguments) {
  return Parser().run(arguments);
}

namespace {

constexpr auto kWithNext = std::to_array<std::string_view>({
    // phases and files
    "-o",
    "--output",
    "-x",
    "--language",
    "-working-directory",
    "-resource-dir",
    "-ccc-install-dir",
    "-ccc-gcc-name",
    "--config",
    "--sysroot",
    "-isysroot",
    "-imultilib",
    "-dumpdir",
    "-B",
    "--prefix",
    "--dyld-prefix",
    "--print-file-name",
    "--print-prog-name",
    // preprocessor
    "-D",
    "--define-macro",
    "-U",
    "--undefine-macro",
    "-I",
    "--include-directory",
    "--include-directory-after",
    "-A",
    "--assert",
    "-include",
    "--include",
    "-imacros",
    "--imacros",
    "-include-pch",
    "-isystem",
    "-isystem-after",
    "-cxx-isystem",
    "-stdlib++-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "--include-prefix",
    "-iwithprefix",
    "--include-with-prefix",
    "--include-with-prefix-after",
    "-iwithprefixbefore",
    "--include-with-prefix-before",
    "-iwithsysroot",
    "-iframework",
    "-iframeworkwithsysroot",
    "-ivfsoverlay",
    "-vfsoverlay",
    "--vfsoverlay",
    "-iapinotes-modules",
    "-F",
    "-MF",
    "-MJ",
    "-MQ",
    "-MT",
    "-dependency-file",
    "-dependency-dot",
    "-module-dependency-dir",
    // code
    "--std",
    "--stdlib",
    "--rtlib",
    "--param",
    "-target",
    "-arch",
    "-G",
    "-mllvm",
    "-mmlir",
    "-mthread-model",
    "-meabi",
    "--mhwdiv",
    "-ftrapv-handler",
    "-fdebug-compilation-dir",
    "-fmodules-user-build-path",
    "-gen-cdb-fragment-path",
    "-serialize-diagnostics",
    "--serialize-diagnostics",
    "--analyzer-output",
    "-Xclang",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xanalyzer",
    "-Xarch_host",
    "-Xarch_device",
    "-Xcuda-ptxas",
    "-Xcuda-fatbinary",
    "-Xopenmp-target",
    "-Xoffload-linker",
    // linker
    "-Xlinker",
    "--for-linker",
    "-L",
    "--library-directory",
    "-l",
    "-T",
    "-e",
    "-u",
    "-undefined",
    "--force-link",
    "-z",
    "-rpath",
    "-b",
    "-framework",
    "-filelist",
    "-dsym-dir",
});

constexpr auto kStops = std::to_array<std::string_view>({
    "-c",
    "--compile",
    "-S",
    "--assemble",
    "-E",
    "--preprocess",
    "-M",
    "--dependencies",
    "-MM",
    "--user-dependencies",
    "-fsyntax-only",
    "--analyze",
    "--precompile",
    "-emit-ast",
    "-emit-merged-ifs",
    "-###",
    "--version",
    "--help",
    "-help",
    "--help-hidden",
    "-dumpversion",
    "-dumpmachine",
    "--dumpversion",
    "--dumpmachine",
});

}  // namespace

std::span<const std::string_view> options_with_next() {
  return kWithNext;
}

bool stops_before_link(std::string_view option) {
  return std::ranges::find(kStops, option) != kStops.end() || option.starts_with("-print-") ||
         option.starts_with("--print-");
}

namespace {

namespace fs = std::filesystem;

// For all other targets clang works as if szc were not there.
bool supported(const std::string& target) {
  if (target.empty()) return true;
  return (target.starts_with("x86_64") || target.starts_with("amd64")) &&
         target.find("linux") != std::string::npos;
}

// The target in the name of a gcc, such as aarch64-linux-gnu-gcc-12, or "" if the name has no
// target. A gcc whose name begins otherwise, such as c99-gcc, is asked.
std::string target_of_gcc(const std::string& program) {
  const std::string name = fs::path(program).filename();
  for (const char* part : {"-gcc", "-g++", "-gfortran", "-cc", "-c++"}) {
    const std::size_t at = name.find(part);
    if (at == std::string::npos) continue;
    const std::string target = name.substr(0, at);
    const std::string answer = supported(target) ? "" : answer_of(program, "-dumpmachine");
    return answer.empty() ? target : answer;
  }
  return "";
}

// The linker that the user chose by -fuse-ld= or --ld-path=, or "" if it was not found.
std::string chosen_linker(const Arguments& arguments, const std::string& clang) {
  if (!arguments.ld_path.empty()) return search_path(arguments.ld_path);
  if (arguments.linker.contains('/')) return search_path(arguments.linker);
  // For clang, ld is the name of its default linker.
  const std::string name = arguments.linker == "ld" ? "ld" : "ld." + arguments.linker;
  for (const std::string& prefix : arguments.prefixes) {
    std::string file = search_path((fs::path(prefix) / name).string());
    if (!file.empty()) return file;
  }
  if (arguments.linker == "lld") return find_lld(clang);
  return search_path(name);
}

void add_compile_flags(const Arguments& arguments, const Companions& companions,
                       const std::string& pass, Words& words) {
  // clang refuses this flag beside embedded bitcode, unless the linker makes the code.
  const bool sections = !arguments.embeds_bitcode || arguments.lto;
  for (const std::string_view flag : instrumenter::compile_flags)
    if (sections || flag != "-ffunction-sections") words.emplace_back(flag);
  if (!companions.include.empty()) words.insert(words.end(), {"-idirafter", companions.include});
  if (!pass.empty()) words.push_back("-fpass-plugin=" + pass);
}

// The compiler calls ld.stab instead of a linker. If the linker that the user chose is missing, it
// does not, so that the compiler reports the error.
void add_linker(const Arguments& arguments, const Companions& companions,
                const std::string& compiler, Command& command) {
  const bool chosen = !arguments.linker.empty() || !arguments.ld_path.empty();
  const std::string linker = chosen ? chosen_linker(arguments, compiler) : "";
  if (chosen && linker.empty()) {
    if (!arguments.ld_path.empty()) command.words.push_back("--ld-path=" + arguments.ld_path);
    return;
  }
  if (arguments.linker.empty()) command.words.emplace_back("-fuse-ld=lld");
  command.words.push_back("--ld-path=" + companions.linker);
  command.environment[variable::linker] = linker;
  command.environment[variable::used_clang] = compiler;
}

// gcc looks for ld.lld in the folders that it is given. Its last -fuse-ld= counts. Some gccs pass
// --as-needed by default, and then lld, unlike ld, drops libraries that only other libraries use.
Result<void> add_linker_of_gcc(const Arguments& arguments, const Companions& companions,
                               const std::string& compiler, Command& command) {
  if (arguments.lto)
    return fail(
        "gcc's -flto needs a linker that loads gcc's plugin, but szc's linker, lld, does not load "
        "it: leave out -flto, or compile with clang");
  if (!arguments.links) return {};
  const bool chosen = !arguments.linker.empty() || !arguments.ld_path.empty();
  const std::string linker = chosen ? chosen_linker(arguments, compiler) : "";
  if (!arguments.ld_path.empty() && linker.empty())
    return fail(
        fmt::format("--ld-path names the linker {}, which does not exist", arguments.ld_path));
  const bool unknown = arguments.ld_path.empty() && arguments.linker == "ld";  // gcc says so
  if (chosen && (linker.empty() || unknown)) return {};
  if (companions.lld_folder.empty())
    return fail(
        "../libexec/stabd/gcc/ld.lld is missing (the path is relative to the folder that contains "
        "szc)");
  command.words.insert(command.words.end(),
                       {"-fuse-ld=lld", "-B", companions.lld_folder, "-Wl,--no-as-needed"});
  command.environment[variable::linker] = linker;
  command.environment[variable::used_clang] = compiler;
  return {};
}

// Adds only flags that gcc understands: it has no pass, and it refuses clang's flags.
Result<void> fill_for_gcc(const Arguments& arguments, const Companions& companions,
                          const std::string& compiler, Command& command) {
  add_compile_flags(arguments, companions, "", command.words);
  if (auto done = add_linker_of_gcc(arguments, companions, compiler, command); !done) return done;
  const bool ours = command.environment.contains(variable::used_clang);
  const Words& words = ours && !arguments.linker.empty() ? arguments.expanded : arguments.clang;
  for (const std::string& word : words)
    if (!ours || !word.starts_with("-fuse-ld=")) command.words.push_back(word);
  return {};
}

void set_environment(const OwnFlags& own, bool off, Command& command) {
  auto& environment = command.environment;
  if (off) environment[variable::off] = "1";
  if (own.strict) environment[variable::strict] = "1";
  if (own.quiet) environment[variable::quiet] = "1";
  if (const std::string mode = stack_mode(own); !mode.empty()) environment[variable::stack] = mode;
  if (own.link_order) environment[variable::link_order] = fmt::to_string(*own.link_order);
  if (own.link_padding) environment[variable::link_padding] = fmt::to_string(*own.link_padding);
}

// ccache does not notice a changed plugin of the same compiler unless it is told to look at the
// file.
void tell_ccache(const std::string& pass, Command& command) {
  if (pass.empty()) return;
  const std::string others = environment("CCACHE_EXTRAFILES");
  command.environment["CCACHE_EXTRAFILES"] = others.empty() ? pass : others + ":" + pass;
}

// ccache hashes the words of a command, but not its environment.
void show_stack_mode(const OwnFlags& own, Command& command) {
  const std::string mode = stack_mode(own);
  if (!mode.empty() && mode != "frame") command.words.push_back("-D__STAB_STACK_" + mode);
}

// Puts the user's linker back, which is taken out of the words for programs that we link.
void add_ld_path(const Arguments& arguments, Command& command) {
  if (!arguments.ld_path.empty()) command.words.push_back(std::string(kLdPath) + arguments.ld_path);
}

bool makes_probe(const Words& words) {
  const auto flag = std::ranges::find(words, "-o");
  return flag != words.end() && flag + 1 != words.end() && is_probe(flag[1]);
}

// Only links are noted, because each build has few of them.
void note_removed_mode(const Arguments& arguments, bool off, Command& command) {
  const OwnFlags& own = arguments.own;
  if (!arguments.links || off || own.quiet || is_set(variable::quiet)) return;
  if (makes_probe(arguments.expanded)) return;
  const std::string_view given = own.stack.empty() ? variable::stack : "--stab-stack";
  if ((own.stack.empty() ? environment(variable::stack) : own.stack) == removed_stack_mode)
    command.note =
        fmt::format("{0}={1} was removed. Stack frames get pads as with {0}=frame, the default",
                    given, removed_stack_mode);
}

// A program for another target stays as it is, which is a note, or an error with --stab-strict.
Result<void> note_plain(const Arguments& arguments, bool off, const std::string& why,
                        Command& command) {
  if (!arguments.links || off) return {};
  if (arguments.own.strict || is_set(variable::strict)) return fail("cannot randomize: " + why);
  if (!arguments.own.quiet) command.note = "not randomized: " + why;
  return {};
}

}  // namespace

std::string stack_mode(const OwnFlags& own) {
  std::string mode = own.stack.empty() ? environment(variable::stack) : own.stack;
  return mode == removed_stack_mode ? "frame" : mode;
}

Result<Command> make_command(const Arguments& arguments, const Words& compiler,
                             const Companions& companions, bool off) {
  Command command{.words = compiler, .environment = {}, .note = ""};
  if (!arguments.verbatim && !supported(arguments.target)) {
    if (auto noted = note_plain(arguments, off, "made for " + arguments.target, command); !noted)
      return std::unexpected(noted.error());
    add_ld_path(arguments, command);
  } else if (!arguments.verbatim) {
    if (companions.linker.empty())
      return fail(
          "../libexec/stabd/ld.stab is missing (the path is relative to the folder that contains "
          "szc)");
    const std::string& program = program_of(compiler);
    const Identity identity = identify(program);
    if (identity.kind == Identity::Kind::other)
      return fail(
          fmt::format("{} is neither clang nor gcc: its --version prints \"{}\". Set STAB_CC to a "
                      "clang or a gcc, such as clang-{}",
                      program, identity.name, STAB_LLVM_VERSION));
    const std::string stack = environment(variable::stack);
    if (arguments.own.stack.empty() && !stack.empty())
      if (auto good = check_stack_mode(variable::stack, stack); !good)
        return std::unexpected(good.error());
    set_environment(arguments.own, off, command);
    note_removed_mode(arguments, off, command);
    const bool gcc = identity.kind == Identity::Kind::gcc;
    if (gcc && !supported(target_of_gcc(program))) {
      if (auto noted = note_plain(arguments, off, "made by " + program, command); !noted)
        return std::unexpected(noted.error());
      add_ld_path(arguments, command);
      command.words.insert(command.words.end(), arguments.clang.begin(), arguments.clang.end());
      return command;
    }
    if (gcc) {
      if (auto done = fill_for_gcc(arguments, companions, program, command); !done)
        return std::unexpected(done.error());
      return command;
    }
    command.words.emplace_back("--start-no-unused-arguments");
    const std::string pass = off ? "" : pass_for(companions, program, identity);
    add_compile_flags(arguments, companions, pass, command.words);
    if (!pass.empty()) show_stack_mode(arguments.own, command);
    add_linker(arguments, companions, program, command);
    command.words.emplace_back("--end-no-unused-arguments");
    tell_ccache(pass, command);
    command.environment[variable::pass_phase] =
        arguments.lto || arguments.bitcode ? "prelink" : "compile";
  }
  command.words.insert(command.words.end(), arguments.clang.begin(), arguments.clang.end());
  return command;
}

std::string to_shell(const Command& command) {
  std::string text;
  for (const auto& [name, value] : command.environment) {
    if (!value.empty()) text += fmt::format("{}={} ", name, shell_quote(value));
  }
  for (const std::string& word : command.words)
    text += shell_quote(word) + (&word == &command.words.back() ? "" : " ");
  return text;
}

}  // namespace stab::driver
