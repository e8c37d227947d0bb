#!/bin/bash
# SPDX-License-Identifier: MIT
# Autoconf, libtool, CMake, Meson, make and ccache take szc for clang, and what they build with it is randomized.
source "$(dirname "$0")/lib.sh"
export CC=$szc CXX=$szcxx

cat >main.c <<'C'
#include <stdio.h>
int lib(int);
int main(void) { printf("%d\n", lib(4)); return 0; }
C
echo 'int lib(int x) { return x * x; }' >lib.c
echo '#include <stdexcept>
int main() { try { throw std::runtime_error("x"); } catch (const std::exception &) { return 0; } }' >throws.cc

# checked PROGRAM: prints 16 and is randomized.
checked() {
  equal "$1 prints" "$("$1" 2>&1)" 16
  moves "$1" "${2:-$1}"
}

make_test() {
  mkdir make && cp ./*.c ./*.cc make && cd make || return
  cat >Makefile <<'M'
all: prog throws
prog: main.o lib.o
	$(CC) $(LDFLAGS) $^ -o $@
throws: throws.cc
M
  expect 'make' make CC="$CC" CXX="$CXX"
  checked ./prog
  moves 'make: implicit rule' ./throws
  cd ..
}

autoconf_test() {
  have autoreconf && have libtoolize || return 0
  mkdir auto && cp ./*.c ./*.cc auto && cd auto || return
  cat >configure.ac <<'M'
AC_INIT([prog], [1.0])
AM_INIT_AUTOMAKE([foreign subdir-objects])
AC_PROG_CC
AC_PROG_CXX
LT_INIT
AC_C_BIGENDIAN
AC_CHECK_SIZEOF([long])
AC_CHECK_FUNCS([posix_memalign no_such_function])
AC_SEARCH_LIBS([cos], [m])
AC_CONFIG_HEADERS([config.h])
AC_CONFIG_FILES([Makefile])
AC_OUTPUT
M
  cat >Makefile.am <<'M'
lib_LTLIBRARIES = libone.la
libone_la_SOURCES = lib.c
bin_PROGRAMS = prog throws
prog_SOURCES = main.c
prog_LDADD = libone.la
throws_SOURCES = throws.cc
M
  expect 'autoreconf' autoreconf -fi
  mkdir reference ours
  (cd reference && CC=clang-22 CXX=clang++-22 ../configure) >reference.log 2>&1
  (cd ours && ../configure) >ours.log 2>&1
  for file in config.h libtool; do
    sed "s,$szcxx,clang++-22,g; s,$szc,clang-22,g" ours/$file >ours.$file
    cmp -s ours.$file reference/$file || { fail "configure: another $file"; diff ours.$file reference/$file >&2; }
  done
  expect 'configure and make' make -C ours
  checked ours/prog ours/.libs/prog
  moves 'libtool: shared library' ours/.libs/libone.so
  moves 'automake: C++' ours/throws
  expect 'configure and make, static' sh -c 'mkdir static && cd static && ../configure --disable-shared && make'
  checked static/prog
  cd ..
}

cmake_project() {
  mkdir cmake && cp ./*.c ./*.cc cmake
  cat >cmake/CMakeLists.txt <<'M'
cmake_minimum_required(VERSION 3.20)
project(prog C CXX)
include(CheckCCompilerFlag)
include(CheckIPOSupported)
check_c_compiler_flag(-Wshadow HAS_SHADOW)
check_c_compiler_flag(-fno-such-flag HAS_NONE)
check_ipo_supported(RESULT IPO LANGUAGES C)
file(WRITE ${CMAKE_BINARY_DIR}/facts "id ${CMAKE_C_COMPILER_ID} ${CMAKE_CXX_COMPILER_ID}
version ${CMAKE_C_COMPILER_VERSION}
abi ${CMAKE_C_COMPILER_ABI} ${CMAKE_C_SIZEOF_DATA_PTR}
libraries ${CMAKE_C_IMPLICIT_LINK_LIBRARIES} ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES}
folders ${CMAKE_C_IMPLICIT_LINK_DIRECTORIES}
includes ${CMAKE_C_IMPLICIT_INCLUDE_DIRECTORIES} ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES}
flags ${HAS_SHADOW} ${HAS_NONE} ${IPO}
features ${CMAKE_C_COMPILE_FEATURES} ${CMAKE_CXX_COMPILE_FEATURES}
")
add_library(one SHARED lib.c)
add_library(archive STATIC lib.c)
add_executable(prog main.c)
target_link_libraries(prog one)
add_executable(static_prog main.c)
target_link_libraries(static_prog archive)
add_executable(throws throws.cc)
set_property(TARGET throws PROPERTY INTERPROCEDURAL_OPTIMIZATION ON)
M
}

cmake_test() {
  have cmake || return 0
  cmake_project && cd cmake || return
  expect 'cmake with clang' env -u CC -u CXX cmake -B reference -DCMAKE_C_COMPILER=clang-22 -DCMAKE_CXX_COMPILER=clang++-22
  expect 'cmake' env -u CC -u CXX cmake -B ours -DCMAKE_C_COMPILER="$szc" -DCMAKE_CXX_COMPILER="$szcxx" -DCMAKE_BUILD_TYPE=Release
  # The directory of stabilizer.h is ours to add.
  sed "s,;$build_directory/include,,g" ours/facts >facts
  cmp -s facts reference/facts || { fail 'cmake learns other things'; diff reference/facts facts >&2; }
  expect 'cmake --build' cmake --build ours
  checked ours/prog
  checked ours/static_prog
  moves 'cmake: shared library' ours/libone.so
  moves 'cmake: LTO' ours/throws
  expect 'cmake with another linker' env -u CC -u CXX cmake -B bfd -DCMAKE_C_COMPILER="$szc" -DCMAKE_CXX_COMPILER="$szcxx" \
    -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=bfd -DCMAKE_LINKER="$(command -v ld.bfd)"
  expect 'cmake --build with another linker' cmake --build bfd --target prog
  stays 'cmake with another linker' bfd/prog
  cd ..
}

meson_test() {
  have meson && have ninja || return 0
  mkdir meson && cp ./*.c ./*.cc meson && cd meson || return
  cat >meson.build <<'M'
project('prog', 'c', 'cpp', default_options: ['buildtype=release'])
cc = meson.get_compiler('c')
assert(cc.get_id() == 'clang')
assert(meson.get_compiler('cpp').get_id() == 'clang')
assert(cc.get_linker_id() == 'ld.lld')
assert(cc.has_argument('-Wshadow'))
assert(not cc.has_argument('-fno-such-flag'))
assert(cc.has_link_argument('-Wl,-z,now'))
assert(not cc.has_link_argument('-Wl,--no-such-flag'))
assert(cc.has_function('posix_memalign'))
assert(cc.sizeof('long') == 8)
one = shared_library('one', 'lib.c')
archive = static_library('archive', 'lib.c')
executable('prog', 'main.c', link_with: one)
executable('static_prog', 'main.c', link_with: archive)
executable('throws', 'throws.cc')
M
  expect 'meson setup' meson setup ours
  expect 'ninja' ninja -C ours
  checked ours/prog
  checked ours/static_prog
  moves 'meson: shared library' ours/libone.so
  moves 'meson: C++' ours/throws
  cd ..
}

hits() { ccache --print-stats | awk '/^(direct_cache_hit|preprocessed_cache_hit)/ { n += $2 } END { print n + 0 }'; }

ccache_test() {
  have ccache || return 0
  unset CC CXX
  export CCACHE_DIR=$work/ccache CCACHE_CONFIGPATH=/dev/null
  unset CCACHE_DISABLE CCACHE_BASEDIR CCACHE_PREFIX
  expect 'ccache szc' ccache "$szc" -O2 -c lib.c -o first.o
  equal 'ccache: nothing yet' "$(hits)" 0
  expect 'ccache szc again' ccache "$szc" -O2 -c lib.c -o second.o
  equal 'ccache: a hit' "$(hits)" 1
  cmp -s first.o second.o || fail 'ccache: another object'
  expect 'szc: the reference' "$szc" -O2 -c lib.c -o third.o
  cmp -s first.o third.o || fail 'ccache: not what szc makes'
  expect 'ccache links' ccache "$szc" main.c first.o -o prog
  checked ./prog
  export STAB_CLANG='ccache clang-22'
  expect 'szc over ccache' "$szc" -O1 -c lib.c -o inner1.o
  expect 'szc over ccache again' "$szc" -O1 -c lib.c -o inner2.o
  equal 'szc over ccache: a hit' "$(hits)" 2
  cmp -s inner1.o inner2.o || fail 'szc over ccache: another object'
  expect 'szc over ccache links' "$szc" main.c inner1.o -o prog
  checked ./prog
  expect 'szc++ over ccache' "$szcxx" throws.cc -o throws
  unset STAB_CLANG
  # If ccache asks szc, an object by another compiler, or with other pads, is no hit.
  export CCACHE_COMPILERCHECK='%compiler% --stab-version'
  for compiler in clang-22 clang-19 clang-22; do
    STAB_CC=$compiler expect "ccache szc with $compiler" ccache "$szc" -O2 -c main.c -o asked.o
    has "ccache szc with $compiler" <(readelf -p .comment asked.o) "clang version ${compiler#clang-}"
  done
  STAB_STACK=off expect 'ccache szc without pads' ccache "$szc" -O2 -c main.c -o asked.o
  lacks 'ccache szc without pads' <(readelf -SW asked.o) _frames
  unset CCACHE_COMPILERCHECK
  export CC=$szc CXX=$szcxx
}

for test in make autoconf cmake meson ccache; do ${test}_test; done
finish
