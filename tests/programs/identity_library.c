// SPDX-License-Identifier: MIT
typedef int (*Function)(int);
int shared(int x);
int library_function(int x) { return x * 10; }
Function library_own(void) { return library_function; }
int library_compare(Function f) { return f == shared; }
Function library_of_main(void) { return shared; }
