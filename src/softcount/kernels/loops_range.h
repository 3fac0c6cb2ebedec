/* One look at many numbers, which the checks of input come down to. */
#ifndef SOFTCOUNT_LOOPS_RANGE_H
#define SOFTCOUNT_LOOPS_RANGE_H

#include "numbers.h"
#include "vectors.h"

enum { RANGE_VECS = 4, RANGE_ROOM = 1024 }; /* four vectors at a time keep the processor busy */

/* Widen the range to hold n numbers, and add them to its total; NaN is missing and left out. */
static void look_at_doubles(const double *x, ptrdiff_t n, struct range *range) {
    vec least[RANGE_VECS], greatest[RANGE_VECS], total[RANGE_VECS];
    bits missing = {0};
    UNROLL
    for (int v = 0; v < RANGE_VECS; v++)
        least[v] = splat(INFINITY), greatest[v] = splat(-INFINITY), total[v] = splat(0.0);
    ptrdiff_t i = 0;
    for (; i + RANGE_VECS * LANES <= n; i += RANGE_VECS * LANES) {
        UNROLL
        for (int v = 0; v < RANGE_VECS; v++) {
            vec cell = load(x + i + v * LANES);
            bits hole = MASK(cell != cell);
            missing |= hole;
            least[v] = choose(MASK(cell < least[v]), cell, least[v]);
            greatest[v] = maximum(cell, greatest[v]);
            total[v] += as_vec(as_bits(cell) & ~hole);
        }
    }
    range->has_missing |= lane_mask(missing) != 0;
    for (int v = 0; v < RANGE_VECS; v++) {
        range->total += sum_lanes(total[v]);
        range->greatest = fmax(range->greatest, max_lanes(greatest[v]));
        for (ptrdiff_t e = 0; e < LANES; e++) range->least = fmin(range->least, lane(least[v], e));
    }
    for (; i < n; i++) {
        range->has_missing |= x[i] != x[i];
        range->total += x[i] == x[i] ? x[i] : 0.0;
        range->least = fmin(range->least, x[i]);
        range->greatest = fmax(range->greatest, x[i]);
    }
}

static void number_range(const void *numbers, enum number type, ptrdiff_t n, struct range *range) {
    double room[RANGE_ROOM];
    struct range all = {INFINITY, -INFINITY, 0.0, 0};
    for (ptrdiff_t start = 0; start < n; start += RANGE_ROOM) {
        ptrdiff_t piece = n - start < RANGE_ROOM ? n - start : RANGE_ROOM;
        look_at_doubles(as_doubles(numbers, type, start, piece, room), piece, &all);
    }
    *range = all;
}

#endif
