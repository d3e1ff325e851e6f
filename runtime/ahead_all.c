/* All that objects made ahead of time have of the runtime, as one file for clang. */
#include "ahead.c"
#include "cpu/features.c"
