#include "tutti/profiling.h"
#include "tutti/profiling.hpp"

int tutti_profiling_start(void) { return tutti::profiling::start() ? 1 : 0; }
void tutti_profiling_stop(void) { tutti::profiling::stop(); }
void tutti_profiling_flush(void) { tutti::profiling::flush(); }

void tutti_profiling_begin_region(const char* name) { tutti::profiling::begin_region(name == nullptr ? "" : name); }
void tutti_profiling_end_region(void) { tutti::profiling::end_region(); }

const char* tutti_profiling_session_folder(void) { return tutti::profiling::session_folder(); }
const char* tutti_profiling_last_problem(void) { return tutti::profiling::last_problem(); }
