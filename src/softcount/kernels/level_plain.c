/* One double at a time, in standard C: for compilers without vector extensions. */
#define VECTOR_BYTES 8
#include "level_body.h"

const struct level softcount_plain = THE_LEVEL("plain");
