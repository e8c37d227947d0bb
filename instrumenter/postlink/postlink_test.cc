// SPDX-License-Identifier: MIT
// The step on real binaries: what it writes is what the runtime's validator accepts.
#include <gmock/gmock.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "instrumenter/postlink/test_binary.h"

namespace stab::instrumenter {
namespace {

using testing::HasSubstr;

TEST_F(PostLink, WritesATableThatTheRuntimeAccepts) {
  for (const char* flags : {"", "-O0", "-O2 -fno-pie -no-pie", "-Os", "-g"}) {
    const std::string path = link_program(flags);
    const auto summary = instrument(path, {});
    ASSERT_TRUE(summary) << summary.error().message;
    EXPECT_GE(summary->movable_functions, 4u) << flags;
    EXPECT_EQ(validate_file(path), rt::TableError::ok) << flags;
  }
}

TEST_F(PostLink, ExplainsWhatIsPinnedAndWhy) {
  const std::string path = link_program();
  ASSERT_TRUE(instrument(path, {}));
  const auto explanation = explain(path);
  ASSERT_TRUE(explanation) << explanation.error().message;
  for (const char* name : {"main", "leaf", "table", "labels"})
    EXPECT_EQ(function(*explanation, name).pinned, "") << name;
  EXPECT_THAT(function(*explanation, "sensitive").pinned, HasSubstr("dlsym"));
  EXPECT_THAT(function(*explanation, "fixed").pinned, HasSubstr("STAB_NO_MOVE"));
  EXPECT_THAT(function(*explanation, "_start").pinned, HasSubstr("before the runtime"));
  std::uint64_t all = 0;
  std::uint64_t moving = 0;
  for (const auto& f : explanation->functions) {
    all += f.size;
    moving += f.pinned.empty() ? f.size : 0;
  }
  EXPECT_EQ(explanation->text_bytes, all);
  EXPECT_EQ(explanation->movable_bytes, moving);
  EXPECT_THAT(to_text(*explanation), HasSubstr("pinned"));
  const auto json = nlohmann::json::parse(to_json(*explanation));
  EXPECT_EQ(json["functions"].size(), explanation->functions.size());
  EXPECT_EQ(json["movable_bytes"], moving);
  EXPECT_EQ(json["framed"], explanation->framed);
  EXPECT_EQ(json["padded"], explanation->padded);
  EXPECT_LE(explanation->padded, explanation->framed);
}

TEST_F(PostLink, KeepsModeAndDropsRelocations) {
  const std::string path = link_program();
  chmod(path.c_str(), 0751);
  ASSERT_TRUE(instrument(path, {}));
  struct stat after{};
  ASSERT_EQ(stat(path.c_str(), &after), 0);
  EXPECT_EQ(after.st_mode & 07777, 0751u);
  const auto file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  for (const Elf64_Shdr& section : file->sections())
    EXPECT_FALSE(section.sh_type == SHT_RELA && (section.sh_flags & SHF_ALLOC) == 0)
        << file->name(section);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2);
}

TEST_F(PostLink, StripsOnRequest) {
  std::string path = link_program("-g");
  ASSERT_TRUE(instrument(path, {.strip_debug = true}));
  auto file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  EXPECT_EQ(file->section(".debug_info"), nullptr);
  EXPECT_FALSE(file->symbols().empty());
  path = link_program("-g");
  ASSERT_TRUE(instrument(path, {.strip_all = true}));
  file = ElfFile::parse(*read_file(path, std::size_t{1} << 30));
  EXPECT_TRUE(file->symbols().empty());
  EXPECT_EQ(validate_file(path), rt::TableError::ok);
}

TEST_F(PostLink, LeavesTheFileAloneOnAnError) {
  const std::string bare = link("");
  const auto before = read_file(bare, std::size_t{1} << 30);
  const auto summary = instrument(bare, {});
  ASSERT_FALSE(summary);
  EXPECT_THAT(summary.error().message, HasSubstr("the runtime is not linked in"));
  EXPECT_EQ(*read_file(bare, std::size_t{1} << 30), *before);
  const std::string path = link_program();
  ASSERT_TRUE(instrument(path, {}));
  EXPECT_THAT(instrument(path, {}).error().message, HasSubstr("already instrumented"));
  EXPECT_THAT(instrument((folder_ / "a.c").string(), {}).error().message, HasSubstr("not"));
  EXPECT_THAT(instrument((folder_ / "absent").string(), {}).error().message,
              HasSubstr("No such file"));
}

// Their records may say that functions must stay in place.
TEST_F(PostLink, RefusesObjectsThatAnEarlierSzcCompiled) {
  for (const char* name : {"frames", "calls", "entries", "compiled", "bytes"}) {
    std::ofstream(folder_ / "b.s") << ".section .stab_" << name << ", \"\", @progbits\n"
                                   << ".quad main\n";
    const auto summary = instrument(link_program((folder_ / "b.s").string()), {});
    ASSERT_FALSE(summary) << name;
    EXPECT_THAT(summary.error().message, HasSubstr("an earlier version of szc")) << name;
    EXPECT_THAT(summary.error().message, HasSubstr("compile them again")) << name;
  }
}

TEST_F(PostLink, RefusesRelocationsThatItDoesNotRead) {
  const auto file = ElfFile::parse(*read_file(link_program("-g"), std::size_t{1} << 30));
  ASSERT_TRUE(file) << file.error().message;
  const std::string changed = (folder_ / "changed").string();
  const auto with_type = [&](const char* name, std::uint32_t type) {
    const Elf64_Shdr* section = file->section(name);
    EXPECT_NE(section, nullptr) << name;
    const auto index = static_cast<std::size_t>(section - file->sections().data());
    std::string bytes = file->bytes();
    std::memcpy(bytes.data() + file->header().e_shoff + index * sizeof(Elf64_Shdr) +
                    offsetof(Elf64_Shdr, sh_type),
                &type, sizeof type);
    std::ofstream(changed, std::ios::binary) << bytes;
    return instrument(changed, {});
  };
  constexpr std::uint32_t unheard_of = 0x60000001;
  for (const std::uint32_t type : {std::uint32_t{SHT_REL}, sht_crel, unheard_of}) {
    const auto refused = with_type(".rela.text", type);
    ASSERT_FALSE(refused) << type;
    EXPECT_THAT(refused.error().message, HasSubstr("in a form that szc does not read")) << type;
  }
  // The relocations of debugging information don't matter.
  const auto summary = with_type(".rela.debug_info", sht_crel);
  ASSERT_TRUE(summary) << summary.error().message;
  const auto result = ElfFile::parse(*read_file(changed, std::size_t{1} << 30));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->section(".rela.debug_info"), nullptr);
}

TEST_F(PostLink, SurvivesDamagedFiles) {
  const std::string path = link_program();
  const std::string whole = *read_file(path, std::size_t{1} << 30);
  const std::string damaged = (folder_ / "damaged").string();
  for (std::size_t size = 0; size < whole.size(); size += whole.size() / 40 + 1) {
    std::ofstream(damaged, std::ios::binary) << whole.substr(0, size);
    EXPECT_FALSE(instrument(damaged, {})) << size;
    EXPECT_FALSE(explain(damaged)) << size;
  }
  // Any byte of the headers changed: an error or a table that holds, never a crash.
  for (std::size_t at = 16; at < 64 + 13 * sizeof(Elf64_Phdr); at += 5) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x41);
    std::ofstream(damaged, std::ios::binary) << changed;
    if (instrument(damaged, {})) EXPECT_TRUE(explain(damaged));
  }
}

}  // namespace
}  // namespace stab::instrumenter
