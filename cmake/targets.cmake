# SPDX-License-Identifier: MIT
# How targets are made here: one library a folder, a test beside the file that it tests.

add_library(stab_flags INTERFACE)
target_include_directories(stab_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_definitions(stab_flags INTERFACE SPDLOG_FMT_EXTERNAL STAB_VERSION="${PROJECT_VERSION}")
# Checking format strings takes a twentieth of the time of compiling. The sanitized builds check them.
if(NOT STAB_SANITIZE)
  target_compile_definitions(stab_flags INTERFACE FMT_CONSTEVAL=)
endif()
target_compile_options(stab_flags INTERFACE -Wall -Wextra -Wpedantic -Wold-style-cast -Wcast-align
  -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough -Wunused -Werror)
# Compiled as one, a local of one file may hide a helper of another: only a build file by file looks for such names.
target_compile_options(stab_flags INTERFACE $<$<NOT:$<BOOL:${STAB_UNITY}>>:-Wshadow>)
# Debug information takes a tenth of the time of compiling. Who debugs asks for it, and gets lines.
target_compile_options(stab_flags INTERFACE
  $<$<CONFIG:RelWithDebInfo>:$<IF:$<BOOL:${STAB_DEBUG_INFO}>,-gline-tables-only,-g0>>)
# lld takes a quarter of the time of the system's linker. Programs are linked beside each other, so that threads of one
# linker would only wait for those of another; they take a third more of the CPUs.
target_link_options(stab_flags INTERFACE -fuse-ld=lld -Wl,--threads=1)
if(STAB_SANITIZE)
  # Compiling is most of what a sanitized build takes, and takes a third without optimization. See OPTIMIZED below.
  # Tests that only run programs are not sanitized themselves (STAB_PLAIN), but know that the programs are.
  target_compile_definitions(stab_flags INTERFACE $<$<BOOL:$<TARGET_PROPERTY:STAB_PLAIN>>:STAB_SANITIZED>)
  set(stab_sanitized $<NOT:$<BOOL:$<TARGET_PROPERTY:STAB_PLAIN>>>)
  target_compile_options(stab_flags INTERFACE
    "$<${stab_sanitized}:-fsanitize=${STAB_SANITIZE};-fno-sanitize-recover=all;-fno-omit-frame-pointer;-gline-tables-only>"
    $<IF:$<BOOL:$<TARGET_PROPERTY:STAB_OPTIMIZED>>,-O1,-O0>)
  target_link_options(stab_flags INTERFACE -fsanitize=${STAB_SANITIZE})
  # AddressSanitizer lists every global variable by address: half of a program's start would be their relocation.
  # ThreadSanitizer wants its programs to be where it expects them.
  if(STAB_SANITIZE MATCHES address)
    target_link_options(stab_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
  endif()
endif()

# Libraries of others must not bring their warnings along.
function(stab_link target)
  cmake_parse_arguments(arg "" "" "PUBLIC;PRIVATE" ${ARGN})
  target_link_libraries(${target} PUBLIC stab_flags ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
endfunction()

# A test's own code is compiled in a third of the time without optimization; of what it tests only headers are not
# optimized.
add_library(stab_test_flags INTERFACE)
target_link_libraries(stab_test_flags INTERFACE stab_flags)
target_compile_options(stab_test_flags INTERFACE -O0)

# Most of the time of compiling goes into the optimizer, and stabctl and stabd mostly wait for files, programs and people.
# With -O2, a report of 4,000 trials would be 2 % faster. A library's precompiled headers must be compiled with the
# library's own options.
function(stab_optimize target)
  if(NOT STAB_SANITIZE)
    target_compile_options(${target} PRIVATE -O1 -finline-hint-functions)
  endif()
endfunction()

# stab_headers(NAME FILE libs): the target stab_NAME, whose headers (FILE) the compiler reads once for all that reuse them.
function(stab_headers name file)
  add_library(stab_${name} STATIC ${PROJECT_SOURCE_DIR}/cmake/headers.cc)
  target_link_libraries(stab_${name} PRIVATE ${ARGN})
  target_precompile_headers(stab_${name} PRIVATE ${PROJECT_SOURCE_DIR}/cmake/${file})
  target_compile_options(stab_${name} PRIVATE -Xclang -fno-pch-timestamp -fpch-instantiate-templates)
endfunction()
stab_headers(product_headers product_headers.h stab_flags fmt::fmt nlohmann_json::nlohmann_json)
stab_headers(experiment_headers experiment_headers.h stab_flags fmt::fmt nlohmann_json::nlohmann_json)
stab_optimize(stab_product_headers)
stab_optimize(stab_experiment_headers)
stab_headers(test_headers test_headers.h stab_test_flags fmt::fmt nlohmann_json::nlohmann_json GTest::gmock)
if(STAB_SANITIZE)
  stab_headers(plain_test_headers test_headers.h stab_test_flags fmt::fmt nlohmann_json::nlohmann_json GTest::gmock)
  set_target_properties(stab_plain_test_headers PROPERTIES STAB_PLAIN ON)
endif()

# The main of programs of tests: as GoogleTest's, and --file=FOLDER/a_test.cc runs the tests of that file. It is optimized,
# because its copies of inline functions are those of the whole program.
add_library(stab_test_main OBJECT ${PROJECT_SOURCE_DIR}/tests/main.cc)
target_link_libraries(stab_test_main PRIVATE stab_flags GTest::gmock)

# Sets the variable to the top folder of the place where it is called: "report" in report/html.
function(stab_room room)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  string(REGEX REPLACE "/.*" "" first "${folder}")
  set(${room} ${first} PARENT_SCOPE)
endfunction()

# The rooms about experiments include nearly all headers of plans, results and reports. Without precompiled headers the
# compiler sees whether a file includes what it uses: ThreadSanitizer's build has none.
set(stab_experiment_rooms store report protocol worker cluster results client stabd)
function(stab_reuse_headers target)
  stab_optimize(${target})
  stab_room(room)
  if(STAB_SANITIZE MATCHES thread)
    return()
  elseif(room IN_LIST stab_experiment_rooms)
    target_precompile_headers(${target} REUSE_FROM stab_experiment_headers)
  else()
    target_precompile_headers(${target} REUSE_FROM stab_product_headers)
  endif()
endfunction()

# Half of the optimizer's time is inlining, which stabctl and stabd need little of. The store keeps more of it: without
# it, a report of 100,000 trials would take a third longer.
set(stab_quick_folders base toml plan design counters machine report causal instrumenter/driver revisions protocol worker cluster results client
  stabd)
function(stab_quick_to_compile target)
  if(NOT STAB_SANITIZE)
    target_compile_options(${target} PRIVATE "SHELL:-mllvm -inline-threshold=0" "SHELL:-mllvm -inlinehint-threshold=0")
  endif()
  stab_reuse_headers(${target})
endfunction()

# stab_library(NAME SOURCES a.cc b.cc [PUBLIC libs] [PRIVATE libs] [OPTIMIZED] [ALONE c.cc]): the library of this folder,
# whose files are compiled as one, but for ALONE: those have helpers of the same names as others. OPTIMIZED is for those
# whose tests compute for long: they are optimized under the sanitizers, too.
function(stab_library name)
  cmake_parse_arguments(arg "OPTIMIZED" "" "SOURCES;ALONE;PUBLIC;PRIVATE" ${ARGN})
  add_library(stab_${name} STATIC ${arg_SOURCES} ${arg_ALONE})
  set_source_files_properties(${arg_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  stab_link(stab_${name} PUBLIC ${arg_PUBLIC} PRIVATE ${arg_PRIVATE})
  set_target_properties(stab_${name} PROPERTIES STAB_OPTIMIZED ${arg_OPTIMIZED}
    UNITY_BUILD ${STAB_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  stab_room(room)
  if((room IN_LIST stab_quick_folders OR folder IN_LIST stab_quick_folders) AND NOT arg_OPTIMIZED)
    stab_quick_to_compile(stab_${name})
  elseif(NOT STAB_SANITIZE OR NOT arg_OPTIMIZED)  # others are compiled in another way than the headers
    stab_reuse_headers(stab_${name})
  endif()
endfunction()

# stab_test(a_test.cc [SLOW] [OWN_PROGRAM] [OPTIMIZED] [LINK libs] [ENVIRONMENT vars]): the tests of a file, known to ctest as
# "folder/a_test". Files of a folder become one program, stab_tests_of_the_folder, and are compiled as one; a file whose
# helpers have the same names as another's is compiled apart (SKIP_UNITY_BUILD_INCLUSION). Where stab_tests_are_plain is set
# they only run programs and are not sanitized themselves; STAB_SANITIZED is defined if the programs are. OWN_PROGRAM is for
# those that replace functions of libc, or are about their program itself. OPTIMIZED ones are about their own machine code.
function(stab_test source)
  cmake_parse_arguments(arg "SLOW;OWN_PROGRAM;OPTIMIZED" "TIMEOUT" "LINK;ENVIRONMENT" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  cmake_path(REMOVE_EXTENSION source LAST_ONLY OUTPUT_VARIABLE stem)
  if(arg_OWN_PROGRAM OR arg_OPTIMIZED)
    string(REPLACE "/" "_" target "${folder}_${stem}")
  else()
    string(REPLACE "/" "_" target "tests_of_${folder}")
  endif()
  if(NOT TARGET ${target})
    stab_test_program(${target})
    if(NOT arg_OPTIMIZED)
      target_link_libraries(${target} PRIVATE stab_test_flags)
      if(STAB_SANITIZE AND stab_tests_are_plain)
        set_target_properties(${target} PROPERTIES STAB_PLAIN ON)
        target_precompile_headers(${target} REUSE_FROM stab_plain_test_headers)
      else()
        target_precompile_headers(${target} REUSE_FROM stab_test_headers)
      endif()
      set_target_properties(${target} PROPERTIES UNITY_BUILD ${STAB_UNITY} UNITY_BUILD_BATCH_SIZE 16)
    endif()
  endif()
  target_sources(${target} PRIVATE ${source})
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  stab_register_test(${folder}/${stem} SLOW ${arg_SLOW} TIMEOUT "${arg_TIMEOUT}" ENVIRONMENT "${arg_ENVIRONMENT}"
    COMMAND ${target} --file=${folder}/${stem}.cc)
endfunction()

# A program of tests, with a main that runs those of one file.
function(stab_test_program target)
  add_executable(${target})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_definitions(${target} PRIVATE STAB_SOURCE_DIR="${PROJECT_SOURCE_DIR}" STAB_BIN_DIR="${PROJECT_BINARY_DIR}/bin")
  stab_link(${target} PRIVATE stab_test_main GTest::gmock)
endfunction()

# stab_script_test(a_test.sh [SLOW] [PROCESSORS N]): a script that is run with the source and the build directory as arguments.
# What it cannot test it says by tests/lib.sh.
function(stab_script_test source)
  cmake_parse_arguments(arg "SLOW" "TIMEOUT;PROCESSORS" "ENVIRONMENT" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  cmake_path(REMOVE_EXTENSION source LAST_ONLY OUTPUT_VARIABLE stem)
  stab_register_test(${folder}/${stem} SLOW ${arg_SLOW} TIMEOUT "${arg_TIMEOUT}" ENVIRONMENT "${arg_ENVIRONMENT}"
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/${source} ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  set_tests_properties(${folder}/${stem} PROPERTIES SKIP_RETURN_CODE 77)
  if(arg_PROCESSORS)
    set_tests_properties(${folder}/${stem} PROPERTIES PROCESSORS ${arg_PROCESSORS})
  endif()
endfunction()

function(stab_register_test name)
  cmake_parse_arguments(arg "" "SLOW;TIMEOUT" "COMMAND;ENVIRONMENT" ${ARGN})
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  # A bound of what hangs, and sanitizers take several times as long.
  if(STAB_SANITIZE)
    math(EXPR arg_TIMEOUT "3 * ${arg_TIMEOUT}")
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  if(arg_ENVIRONMENT)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${arg_ENVIRONMENT}")
  endif()
  if(arg_SLOW)
    # What takes longest begins first.
    set_tests_properties(${name} PROPERTIES LABELS slow COST ${arg_TIMEOUT})
  endif()
endfunction()

# Ctest runs each fuzzer for seconds, so compiling them quickly counts for more. Long runs ask for -O1.
set(STAB_FUZZ_LEVEL "-O0" CACHE STRING "Optimization of the libFuzzer targets (-O1 for runs of more than a minute)")
set(stab_fuzzer_options -fsanitize=address,undefined -fno-sanitize-recover=all ${STAB_FUZZ_LEVEL} -gline-tables-only)

# stab_fuzzed(NAME SOURCES a.cc b.cc LINK libs): stab_fuzzed_NAME, these files compiled anew so that they are instrumented
# for coverage, for several fuzzers.
function(stab_fuzzed name)
  if(NOT STAB_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "SOURCES;LINK" ${ARGN})
  add_library(stab_fuzzed_${name} OBJECT ${arg_SOURCES})
  set_target_properties(stab_fuzzed_${name} PROPERTIES UNITY_BUILD ${STAB_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  target_compile_options(stab_fuzzed_${name} PRIVATE -fsanitize=fuzzer-no-link ${stab_fuzzer_options})
  stab_link(stab_fuzzed_${name} PUBLIC ${arg_LINK})
endfunction()

# stab_fuzzer(a_fuzz.cc CORPUS dir [SOURCES b.cc] [LINK libs]): a libFuzzer program; ctest runs it briefly over its seed
# corpus. Of what it links only SOURCES and what stab_fuzzed made are instrumented for coverage.
function(stab_fuzzer source)
  if(NOT STAB_FUZZ)
    return()
  endif()
  cmake_parse_arguments(arg "" "CORPUS" "SOURCES;LINK" ${ARGN})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE folder)
  cmake_path(GET source STEM stem)
  string(REPLACE "/" "_" target "${folder}_${stem}")
  add_executable(${target} ${source} ${arg_SOURCES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests
    UNITY_BUILD ${STAB_UNITY} UNITY_BUILD_BATCH_SIZE 0)
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer ${stab_fuzzer_options})
  # The library that has SOURCES is one object, which may come along: what stands first counts, which is instrumented.
  target_link_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined -Wl,-z,muldefs)
  stab_link(${target} PRIVATE ${arg_LINK})
  # What it finds goes to the first directory, in the build tree.
  set(found ${PROJECT_BINARY_DIR}/tests/${target}_corpus)
  file(MAKE_DIRECTORY ${found})
  # A seed of its own, so that no run fails by chance. By hand -seed=0 chooses others.
  stab_register_test(${folder}/${stem} COMMAND ${target} -seed=1 -max_total_time=5 -rss_limit_mb=2048 -timeout=10
    -artifact_prefix=${found}/ ${found} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_CORPUS})
endfunction()
