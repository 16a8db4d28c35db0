// A shared object with a module's file name that is none.
#include "tutti/export.hpp"

extern "C" TUTTI_API int tutti_test_no_module() { return 1; }
