// Suppressions for the thread sanitizer; part of every test in that build.

extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions();  // NOLINT: its name

extern "C" const char* __tsan_default_suppressions() {
  // The loader frees the thread-local variables of dlopen()ed libraries when another thread reuses the stack of the
  // thread that ended. It waits for the end of that thread in a way that the sanitizer does not see.
  return "race:_dl_deallocate_tls\n";
}
