// SPDX-License-Identifier: MIT
#include "instrumenter/driver/link_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "base/fd.h"

namespace stab::driver {
namespace {

// Options of ld whose value is the next word. The long ones are accepted with a single dash, too.
constexpr auto kShortWithNext =
    std::to_array<std::string_view>({"-o", "-m", "-L", "-l", "-T", "-e", "-u", "-z", "-h", "-I",
                                     "-y", "-b", "-A", "-R", "-F", "-f", "-c", "-G", "-Y", "-O"});
constexpr auto kLongWithNext = std::to_array<std::string_view>({"output",
                                                                "dynamic-linker",
                                                                "soname",
                                                                "rpath",
                                                                "rpath-link",
                                                                "script",
                                                                "version-script",
                                                                "dynamic-list",
                                                                "entry",
                                                                "undefined",
                                                                "plugin",
                                                                "plugin-opt",
                                                                "Map",
                                                                "defsym",
                                                                "init",
                                                                "fini",
                                                                "library",
                                                                "library-path",
                                                                "format",
                                                                "oformat",
                                                                "sysroot",
                                                                "wrap",
                                                                "auxiliary",
                                                                "filter",
                                                                "require-defined",
                                                                "trace-symbol",
                                                                "just-symbols",
                                                                "default-script",
                                                                "dependency-file",
                                                                "hash-style",
                                                                "sort-section",
                                                                "exclude-libs",
                                                                "retain-symbols-file",
                                                                "section-start",
                                                                "symbol-ordering-file",
                                                                "call-graph-ordering-file",
                                                                "print-symbol-order",
                                                                "irpgo-profile",
                                                                "export-dynamic-symbol",
                                                                "export-dynamic-symbol-list",
                                                                "Ttext",
                                                                "Tdata",
                                                                "Tbss",
                                                                "image-base",
                                                                "chroot",
                                                                "threads",
                                                                "reproduce",
                                                                "mllvm"});

// Libraries that take over the address space, the stack or the code of the program.
constexpr auto kRuntimes = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"libclang_rt.asan", "-fsanitize=address"},
     {"libclang_rt.hwasan", "-fsanitize=hwaddress"},
     {"libclang_rt.tsan", "-fsanitize=thread"},
     {"libclang_rt.msan", "-fsanitize=memory"},
     {"libclang_rt.lsan", "-fsanitize=leak"},
     {"libclang_rt.dfsan", "-fsanitize=dataflow"},
     {"libclang_rt.nsan", "-fsanitize=numerical"},
     {"libclang_rt.rtsan", "-fsanitize=realtime"},
     {"libclang_rt.safestack", "-fsanitize=safe-stack"},
     {"libclang_rt.fuzzer", "-fsanitize=fuzzer"},
     {"libclang_rt.memprof", "-fmemory-profile"},
     {"libclang_rt.tysan", "-fsanitize=type"},
     {"libclang_rt.xray", "-fxray-instrument"}});

// gcc's libraries, by their whole names.
constexpr auto kRuntimesOfGcc = std::to_array<std::pair<std::string_view, std::string_view>>(
    {{"asan", "-fsanitize=address"},
     {"hwasan", "-fsanitize=hwaddress"},
     {"tsan", "-fsanitize=thread"},
     {"lsan", "-fsanitize=leak"}});

std::string base_name(const std::string& path) {
  return std::filesystem::path(path).filename();
}

// Returns the name in -name or --name, for names of more than one letter.
std::optional<std::string_view> long_name(std::string_view word) {
  if (word.starts_with("--")) return word.substr(2);
  if (word.size() > 2 && word.starts_with('-')) return word.substr(1);
  return std::nullopt;
}

bool link_takes_next(std::string_view word) {
  if (std::ranges::find(kShortWithNext, word) != kShortWithNext.end()) return true;
  const auto name = long_name(word);
  return name && std::ranges::find(kLongWithNext, *name) != kLongWithNext.end();
}

class LinkParser {
 public:
  explicit LinkParser(const Words& arguments) { result_.words = expand_response_files(arguments); }
  LinkArguments run();

 private:
  void option(const std::string& word);
  void valued(std::string_view name, const std::string& value);
  void input(std::size_t at);
  void finish();

  LinkArguments result_;
  std::string emulation_ = "elf_x86_64";
  std::string runtime_;
  bool asks_ = false;
  bool relocatable_ = false;
  bool shared_ = false;
  bool static_ = false;
  bool dynamic_ = false;
  bool profiled_ = false;
  bool startup_ = false;
  bool libc_ = false;
  bool musl_ = false;
  bool raw_ = false;
};

void LinkParser::valued(std::string_view name, const std::string& value) {
  if (name == "o" || name == "output") result_.output = value;
  if (name == "m") emulation_ = value;
  if (name == "L" || name == "library-path") result_.library_folders.push_back(value);
  if (name == "dynamic-linker") {
    dynamic_ = true;
    musl_ = base_name(value).starts_with("ld-musl");
  }
  if (name == "plugin-opt" && value.starts_with("thinlto")) result_.thin_lto = true;
  if (name == "version-script") result_.version_script = value;
  if (name == "symbol-ordering-file" || (name == "bp-startup-sort" && value != "none") ||
      (name == "bp-compression-sort" && value != "none"))
    result_.fixed_order = fmt::format("--{}", name);
  if (name == "call-graph-ordering-file" || name == "call-graph-profile-sort")
    result_.call_order = value == "none" ? "" : fmt::format("--{}", name);
  if (name == "z" && (value == "execstack" || value == "noexecstack"))
    result_.stack_is_decided = true;
  if (name == "oformat" && !value.starts_with("elf")) raw_ = true;
}

void LinkParser::input(std::size_t at) {
  result_.inputs.push_back(at);
  const std::string name = base_name(result_.words[at]);
  if (name == "crt1.o" || name == "Scrt1.o" || name == "gcrt1.o") startup_ = true;
  if (name == "gcrt1.o") profiled_ = true;
  if (name == "-lc" || name.starts_with("libc.so") || name == "libc.a") libc_ = true;
  for (const auto& [prefix, flag] : kRuntimes) {
    if (name.starts_with(prefix)) runtime_ = flag;
  }
  for (const auto& [library, flag] : kRuntimesOfGcc)
    for (const std::string& whole : {fmt::format("-l{}", library), fmt::format("lib{}.so", library),
                                     fmt::format("lib{}.a", library)})
      if (name == whole) runtime_ = flag;
}

void LinkParser::option(const std::string& word) {
  const std::string_view name = long_name(word).value_or("");
  if (name == "lto-CGO0") result_.unoptimized_code = true;
  // A single dash and an o introduce the output's name, whatever follows, as in GNU ld.
  const auto equal = word.starts_with("-o") ? std::string_view::npos : name.find('=');
  if (equal != std::string_view::npos)
    return valued(name.substr(0, equal), std::string(name.substr(equal + 1)));
  if (word.starts_with("-o")) result_.output = word.substr(2);
  if (word == "-s" || name == "strip-all") result_.strip_all = true;
  if (word == "-S" || name == "strip-debug") result_.strip_debug = true;
  if (word == "-q" || name == "emit-relocs") result_.wants_relocations = true;
  if (word == "-r" || name == "relocatable") relocatable_ = true;
  if (name == "call-graph-profile-sort") result_.call_order = "--call-graph-profile-sort";
  if (name == "no-call-graph-profile-sort") result_.call_order = "";
  if (name == "shared" || name == "Bshareable") shared_ = true;
  if (name == "static") static_ = true;
  if (name == "version" || name == "help") asks_ = true;
  if (word == "-zexecstack" || word == "-znoexecstack") result_.stack_is_decided = true;
  if (word.starts_with("-L") && word.size() > 2) result_.library_folders.push_back(word.substr(2));
  if (word.starts_with("-m") && name.starts_with("melf")) emulation_ = word.substr(2);
}

void LinkParser::finish() {
  if (asks_ || result_.inputs.empty()) return;
  result_.kind = relocatable_ ? Output::object : shared_ ? Output::library : Output::executable;
  if (relocatable_) return;
  if (emulation_ != "elf_x86_64") {
    result_.obstacle = fmt::format("its format is {}", emulation_);
  } else if (raw_) {
    result_.obstacle = "the output is not an ELF file";
  } else if (!runtime_.empty()) {
    result_.obstacle = fmt::format("{} needs code to stay in place", runtime_);
  } else if (profiled_) {
    result_.obstacle = "-pg needs code to stay in place";
  } else if (shared_) {
    return;
  } else if (static_ && !dynamic_) {
    result_.obstacle = "it is linked statically";
  } else if (musl_) {
    result_.obstacle = "szc's runtime needs the GNU C library";
  } else if (!startup_ || !libc_) {
    result_.obstacle = "the program is linked without the C library or its startup files";
  }
}

LinkArguments LinkParser::run() {
  const Words& words = result_.words;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (word.empty()) continue;
    if (word[0] != '-' || (word.starts_with("-l") && word.size() > 2)) {
      input(at);
    } else if (link_takes_next(word) && at + 1 < words.size()) {
      valued(word.substr(word.starts_with("--") ? 2 : 1), words[at + 1]);
      ++at;
    } else {
      option(word);
    }
  }
  finish();
  return std::move(result_);
}

}  // namespace

LinkArguments parse_link_arguments(const Words& arguments) {
  return LinkParser(arguments).run();
}

bool is_probe(const std::string& output) {
  const std::string name = base_name(output);
  return name.starts_with("conftest") || name.starts_with("cmTC_") ||
         name.starts_with("sanitycheck") || name == "output.exe" || output == "/dev/null";
}

namespace {

// Cargo's names: build_script_NAME-HASH.
bool is_build_script(std::string_view name) {
  constexpr std::string_view start = "build_script_";
  constexpr std::string_view digits = "0123456789abcdef";
  constexpr std::string_view others =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
  if (!name.starts_with(start)) return false;
  name.remove_prefix(start.size());
  const std::size_t dash = name.rfind('-');
  if (dash == std::string_view::npos || dash == 0) return false;
  const std::string_view hash = name.substr(dash + 1);
  return hash.size() == 16 && hash.find_first_not_of(digits) == std::string_view::npos &&
         name.find_first_not_of(others) == std::string_view::npos;
}

}  // namespace

bool is_tool_of_cargo(const LinkArguments& link) {
  if (is_build_script(base_name(link.output))) return true;
  constexpr std::size_t most = std::size_t{1} << 20;
  // To read a pipe would leave nothing for the linker.
  std::error_code ignored;
  return link.kind == Output::library &&
         std::filesystem::is_regular_file(link.version_script, ignored) &&
         read_file(link.version_script, most).value_or("").contains("rustc_proc_macro_decls_");
}

}  // namespace stab::driver
