/* SPDX-License-Identifier: MIT
 * What causal_images_test.cc profiles: opens a library, works in it and closes it, again and again.
 * DIRECTORY TIMES LIBRARY FUNCTION [LIBRARY FUNCTION]...: the current directory is another once a library is
 * open. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int use(const char* path, const char* name, const char* directory, long times) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) return puts(dlerror()), 11;
  void (*work)(long) = (void (*)(long))dlsym(library, name);
  char before[4096];
  if (work == NULL || getcwd(before, sizeof before) == NULL || chdir(directory) != 0) return 12;
  work(times);
  return chdir(before) == 0 && dlclose(library) == 0 ? 0 : 13;
}

int main(int count, char** words) {
  int code = 0;
  for (int i = 3; code == 0 && i + 1 < count; i += 2)
    code = use(words[i], words[i + 1], words[1], atol(words[2]));
  return code;
}
