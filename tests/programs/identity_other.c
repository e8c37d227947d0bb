// SPDX-License-Identifier: MIT
typedef int (*Function)(int);
int shared(int x);
int library_function(int x);
Function other_shared(void) { return shared; }
Function other_library(void) { return library_function; }
