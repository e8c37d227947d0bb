// SPDX-License-Identifier: MIT
#include "client/ab/loaded_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/testing.h"
#include "machine/processes.h"

namespace stab::client::ab {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// The C library that this process has loaded.
std::string c_library() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.ends_with("/libc.so.6")) return line.substr(line.find('/'));
  return "";
}

// The copy "new" has a program and, as if its build had made one, a C library with other bytes.
class Loaded : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(machine::adopt_orphans());
    ASSERT_NE(c_library(), "");
    fs::create_directory(files_ / "new");
    fs::copy_file(fs::canonical("/bin/sleep"), files_ / "new/sleep");
    fs::copy_file(c_library(), files_ / "new/libc.so.6");
    std::ofstream(files_ / "new/libc.so.6", std::ios::binary | std::ios::app) << "\n";
  }

  // Runs the command in the folder of the copy.
  void run(const std::string& command, LoadedLibraries& loaded) {
    machine::Launch launch;
    launch.argv = {"/bin/sh", "-c", command};
    launch.environment = {"PATH=/usr/bin:/bin"};
    launch.directory = files_ / "new";
    loaded.watch(launch);
    const machine::Ended ended = machine::run(launch);
    EXPECT_EQ(ended.how, machine::End::exited) << ended.reason;
    EXPECT_EQ(ended.exit_code, 0) << command;
  }
  std::vector<ForeignLibrary> foreign_in(const std::string& command) {
    LoadedLibraries loaded;
    run(command, loaded);
    return loaded.foreign_to({.name = "v2", .text = "", .said = "", .copy = files_ / "new"});
  }

  test::Folder files_;
};

TEST_F(Loaded, ALibraryFromElsewhereIsForeignIfTheBuildMadeOneOfItsName) {
  const auto is_foreign_to = [](const std::string& program) {
    return ElementsAre(AllOf(Field(&ForeignLibrary::version, "v2"),
                             Field(&ForeignLibrary::library, "libc.so.6"),
                             Field(&ForeignLibrary::program, fs::canonical(program).string()),
                             Field(&ForeignLibrary::loaded, c_library())));
  };
  const std::string own = files_ / "new/sleep";
  EXPECT_THAT(foreign_in("./sleep 0.3"), is_foreign_to(own));
  EXPECT_THAT(foreign_in("cd / && " + own + " 0.3 | cat"), is_foreign_to(own));
  EXPECT_THAT(foreign_in("LD_LIBRARY_PATH=. ./sleep 0.3"), IsEmpty());
  EXPECT_THAT(foreign_in("cd / && LD_LIBRARY_PATH=" + files_ / "new" + " " + own + " 0.3"),
              IsEmpty());
}

TEST_F(Loaded, AnInterpreterCountsUnlessTheLibraryOfTheBuildIsLoadedToo) {
  EXPECT_THAT(foreign_in("sleep 0.3"),
              ElementsAre(Field(&ForeignLibrary::program, fs::canonical("/bin/sleep").string())));
  EXPECT_THAT(foreign_in("sleep 0.3; LD_LIBRARY_PATH=. ./sleep 0.3"), IsEmpty());
  EXPECT_THAT(foreign_in("i=0; while [ $i -lt 200000 ]; do i=$((i + 1)); done"), IsEmpty())
      << "a shell";
}

TEST_F(Loaded, LibrariesWithTheSameBytesAreTheSame) {
  fs::copy_file(c_library(), files_ / "new/libc.so.6", fs::copy_options::overwrite_existing);
  EXPECT_THAT(foreign_in("./sleep 0.3"), IsEmpty());
  fs::remove(files_ / "new/libc.so.6");
  EXPECT_THAT(foreign_in("./sleep 0.3"), IsEmpty());
}

TEST_F(Loaded, AllLibrariesOfAllProcessesAreKnown) {
  LoadedLibraries loaded;
  EXPECT_THAT(loaded.all(), IsEmpty());
  run("sleep 0.3; LD_LIBRARY_PATH=. ./sleep 0.3", loaded);
  EXPECT_THAT(loaded.all(),
              IsSupersetOf({c_library(), fs::canonical(files_ / "new/libc.so.6").string()}));
}

TEST(ForeignLibraries, AreSaidWithTheirVersionsAndWhatToDo) {
  EXPECT_EQ(said(std::vector<ForeignLibrary>{}, 2), "");
  const ForeignLibrary bz2{"a", "libbz2.so.1.0", "/w/001/bzip2", "/lib/libbz2.so.1.0.4"};
  ForeignLibrary of_other = bz2;
  of_other.version = "b";
  EXPECT_EQ(said({bz2, of_other}, 2),
            "the build made libbz2.so.1.0, but bzip2 loads /lib/libbz2.so.1.0.4 in all versions; "
            "to measure the library of the build, link it statically or with -Wl,-rpath, or set "
            "LD_LIBRARY_PATH in --run");
  const ForeignLibrary z{"b", "libz.so.1", "/w/002/bzip2", "/lib/libz.so.1"};
  EXPECT_THAT(said({of_other, z}, 2),
              ::testing::HasSubstr("libbz2.so.1.0.4 in b (the same is true of libz.so.1); to "));
}

}  // namespace
}  // namespace stab::client::ab
