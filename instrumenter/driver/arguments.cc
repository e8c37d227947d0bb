// SPDX-License-Identifier: MIT
#include "instrumenter/driver/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "instrumenter/driver/environment.h"

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
    if (own.stack != "frame" && own.stack != "byte" && own.stack != "table" && own.stack != "off")
      return fail(fmt::format("{}: --stab-stack must be frame, byte, table or off", word));
    return {};
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
  words_ = expand_response_files(given);
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
  // clang reads response files itself if they contain no flag of ours.
  if (!taken_out_) result_.clang = given;
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

}  // namespace stab::driver
