# SPDX-License-Identifier: MIT
# Debian's packages: one for each component of what is installed.
set(CPACK_GENERATOR DEB)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_CONTACT "the stabd authors <stabd@localhost>" CACHE STRING "Maintainer of the packages")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
  WORLD_READ WORLD_EXECUTE)

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL stabd stabctl szc development)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(same "(= ${PROJECT_VERSION})")

# libpfm is loaded by those that look a name up (counters/events/event.cc), so that no program says that it needs it.
set(CPACK_DEBIAN_STABD_PACKAGE_NAME stabd)
set(CPACK_DEBIAN_STABD_PACKAGE_DEPENDS libpfm4)
# PAM's library is loaded by the process that asks for a user's limits (machine/user_limits.h).
set(CPACK_DEBIAN_STABD_PACKAGE_RECOMMENDS "stabctl, libpam0g, libpam-modules")
set(CPACK_DEBIAN_STABD_PACKAGE_SUGGESTS szc)
set(CPACK_DEBIAN_STABD_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/stabd/postinst"
  "${CMAKE_CURRENT_SOURCE_DIR}/stabd/prerm" "${CMAKE_CURRENT_SOURCE_DIR}/stabd/postrm")
set(CPACK_COMPONENT_STABD_DESCRIPTION "laboratory for measurements of programs: the daemon
Runs experiments that compare programs: builds every variant, runs trials in
randomized blocks on a reserved CPU, and stores each before the next.

The package starts nothing: systemctl enable --now stabd.socket stabd.service
is for a daemon of the whole machine.")

# stabctl run starts a daemon of its own.
set(CPACK_DEBIAN_STABCTL_PACKAGE_NAME stabctl)
set(CPACK_DEBIAN_STABCTL_PACKAGE_DEPENDS "stabd ${same}")
set(CPACK_DEBIAN_STABCTL_PACKAGE_RECOMMENDS szc)
set(CPACK_DEBIAN_STABCTL_PACKAGE_CONTROL_EXTRA "${CMAKE_CURRENT_SOURCE_DIR}/stabctl/prerm")
set(CPACK_COMPONENT_STABCTL_DESCRIPTION "laboratory for measurements of programs: the client
Runs and submits experiments and says what changed: faster, slower, the same,
or cannot tell. Has example plans.")

# The plugin works in this LLVM only.
set(CPACK_DEBIAN_SZC_PACKAGE_NAME szc)
set(CPACK_DEBIAN_SZC_PACKAGE_DEPENDS "libstabilizer-dev ${same}, clang-${LLVM_VERSION_MAJOR}, lld-${LLVM_VERSION_MAJOR}")
set(CPACK_COMPONENT_SZC_DESCRIPTION "compiler whose programs have a new memory layout in each run
A drop-in for clang and clang++. Programs that it links place their functions
at random, and move them while they run.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libstabilizer-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS szc)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "header for programs that szc builds, and its CMake and pkg-config files
stabilizer.h marks regions of a program that are to be measured. CMake projects
find szc with find_package(stabd).")
include(CPack)
