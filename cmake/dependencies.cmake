# SPDX-License-Identifier: MIT
# Every library that the product links; `dev` installs the packages.
find_program(CCACHE ccache)
if(CCACHE)
  # Without these allowances it keeps nothing that is compiled with a precompiled header.
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
endif()

find_package(Threads REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(SQLiteCpp REQUIRED)
# Who only runs stabd has no GoogleTest. The targets of tests exist all the same, and cannot be built.
find_package(GTest)
if(NOT GTest_FOUND)
  foreach(part gtest gtest_main gmock gmock_main)
    add_library(GTest::${part} INTERFACE IMPORTED)
  endforeach()
endif()
find_package(Boost 1.81 REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(libuv REQUIRED IMPORTED_TARGET libuv)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(libmd REQUIRED IMPORTED_TARGET libmd)
# What pkg-config says of it would compile with other options than those of our precompiled headers.
find_library(RE2 re2 REQUIRED)
find_library(LIBELF elf REQUIRED)
find_library(ZYDIS Zydis REQUIRED)

find_package(LLVM 22.1 REQUIRED CONFIG)
add_library(stab_llvm INTERFACE)
target_include_directories(stab_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(LLVM_DEFINITIONS)
# libstdc++'s default, which the precompiled headers have without a definition.
list(REMOVE_ITEM LLVM_DEFINITIONS -D_GLIBCXX_USE_CXX11_ABI=1)
target_compile_definitions(stab_llvm INTERFACE ${LLVM_DEFINITIONS})
target_link_libraries(stab_llvm INTERFACE LLVM)
