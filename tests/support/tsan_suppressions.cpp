// What the thread sanitizer is told to pass over; part of every test that it runs.

extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();  // NOLINT: its name

extern "C" const char* __tsan_default_suppressions() {
  // The variables of a thread in libraries that were opened at run time lie in memory that the loader frees when the
  // thread's stack is used again, by another thread. It waits for the end of the first one in a way the sanitizer
  // does not know.
  return "race:_dl_deallocate_tls\n";
}
