/* A C program that controls its session through tutti/profiling.h, loaded late as a plug-in's host would load it:
 * c_program LIBRARY. Prints the folder of the session that it began. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "tutti/profiling.h"

static const char* library;

static void* begin(void* result) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return NULL;
  }
  __typeof__(&tutti_profiling_start) start = (__typeof__(&tutti_profiling_start))dlsym(handle, "tutti_profiling_start");
  __typeof__(&tutti_profiling_begin_region) begin_region =
      (__typeof__(&tutti_profiling_begin_region))dlsym(handle, "tutti_profiling_begin_region");
  __typeof__(&tutti_profiling_session_folder) folder =
      (__typeof__(&tutti_profiling_session_folder))dlsym(handle, "tutti_profiling_session_folder");
  errno = 77;
  if (start() != 1 || errno != 77) return NULL;
  begin_region("step");
  begin_region(NULL);
  if (dlclose(handle) == 0) puts(folder()); /* the library stays */
  *(int*)result = 0;
  return NULL;
}

int main(int count, char** arguments) {
  int result = 1;
  pthread_t thread;
  if (count < 2) return 2;
  library = arguments[1];
  if (pthread_create(&thread, NULL, begin, &result) != 0) return 3;
  pthread_join(thread, NULL);
  return result;
}
