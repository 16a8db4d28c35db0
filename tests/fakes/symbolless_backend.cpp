// A shared object with the file name of a module, but without a module's symbols.
#include "tutti/export.hpp"

extern "C" TUTTI_API int tutti_test_no_module() { return 1; }
