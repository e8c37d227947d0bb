// SPDX-License-Identifier: MIT
// Interposes calls by which the process ends, becomes another program, enters a sandbox, or
// unloads code.
#include <alloca.h>
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "causal/preload/real.h"
#include "causal/preload/sampler.h"
#include "causal/preload/start.h"
#include "causal/preload/thread.h"

using namespace stab::causal;

// exit() runs the program's functions and destructors first; ours runs last.
STAB_EXPORT void exit(int status) {
  before_wake();
  STAB_REAL(exit)(status);
  __builtin_unreachable();
}

#define STAB_ENDS(name)               \
  STAB_EXPORT void name(int status) { \
    end_process();                    \
    STAB_REAL(name)(status);          \
    __builtin_unreachable();          \
  }

STAB_ENDS(_exit)
STAB_ENDS(_Exit)
STAB_ENDS(quick_exit)

#define STAB_BECOMES(name, parameters, arguments) \
  STAB_EXPORT int name parameters {               \
    before_wake();                                \
    leave_program();                              \
    const int result = STAB_REAL(name) arguments; \
    resume_program();                             \
    return result;                                \
  }

STAB_BECOMES(execve, (const char* path, char* const* arguments, char* const* environment),
             (path, arguments, environment))
STAB_BECOMES(execv, (const char* path, char* const* arguments), (path, arguments))
STAB_BECOMES(execvp, (const char* file, char* const* arguments), (file, arguments))
STAB_BECOMES(execvpe, (const char* file, char* const* arguments, char* const* environment),
             (file, arguments, environment))
STAB_BECOMES(execveat,
             (int fd, const char* path, char* const* arguments, char* const* environment,
              int flags),
             (fd, path, arguments, environment, flags))
STAB_BECOMES(fexecve, (int fd, char* const* arguments, char* const* environment),
             (fd, arguments, environment))

// Gathers the listed arguments in an array on the stack, up to the null pointer.
#define STAB_GATHER(first)                                                     \
  va_list list;                                                                \
  size_t count = 1;                                                            \
  va_start(list, first);                                                       \
  while (va_arg(list, char*) != nullptr) ++count;                              \
  va_end(list);                                                                \
  auto** arguments = static_cast<char**>(alloca((count + 1) * sizeof(char*))); \
  arguments[0] = const_cast<char*>(first);                                     \
  va_start(list, first);                                                       \
  for (size_t i = 1; i <= count; ++i) arguments[i] = va_arg(list, char*)

STAB_EXPORT int execl(const char* path, const char* first, ...) {
  STAB_GATHER(first);
  va_end(list);
  return execv(path, arguments);
}

STAB_EXPORT int execlp(const char* file, const char* first, ...) {
  STAB_GATHER(first);
  va_end(list);
  return execvp(file, arguments);
}

STAB_EXPORT int execle(const char* path, const char* first, ...) {
  STAB_GATHER(first);
  char* const* environment = va_arg(list, char* const*);
  va_end(list);
  return execve(path, arguments, environment);
}

STAB_EXPORT int prctl(int option, ...) {
  va_list list;
  va_start(list, option);
  unsigned long a[4];
  for (unsigned long& argument : a) argument = va_arg(list, unsigned long);
  va_end(list);
  if (option == PR_SET_SECCOMP) leave_session();
  return STAB_REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}

STAB_EXPORT int dlclose(void* library) {
  const int result = STAB_REAL(dlclose)(library);
  forget_objects();
  return result;
}
