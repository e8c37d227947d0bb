# SPDX-License-Identifier: MIT
# Runs at installation: the unit names the program where it is now.
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE prefix)
string(REGEX REPLACE "/$" "" prefix "${prefix}")
set(unit "${prefix}/lib/systemd/system/stabd.service")
message(STATUS "Installing: $ENV{DESTDIR}${unit}")
configure_file("${template}" "$ENV{DESTDIR}${unit}" @ONLY)
list(APPEND CMAKE_INSTALL_MANIFEST_FILES "${unit}")
