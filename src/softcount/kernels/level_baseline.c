/* Vectors of 16 bytes, which every 64-bit x86 (SSE2) and ARM (NEON) processor has. */
#if defined(__GNUC__) || defined(__clang__)
#define VECTOR_BYTES 16
#include "level_body.h"

const struct level softcount_baseline = THE_LEVEL("baseline");
#endif
