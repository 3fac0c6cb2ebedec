/* A panel: a few rows and columns of dense data, turned so that one column of PANEL_ROWS rows lies together.
 *
 * The Gaussian kernels and the softmax put rows, not classes, into the lanes of their vectors. Rows are many and
 * classes few, so no lane is wasted however many classes there are. */
#ifndef SOFTCOUNT_LOOPS_PANEL_H
#define SOFTCOUNT_LOOPS_PANEL_H

#include "numbers.h"
#include "vectors.h"

#define PANEL_ROWS 64
#define PANEL_COLUMNS 32
#define PANEL_VECS (PANEL_ROWS / LANES)

struct panel {
    ptrdiff_t n_rows, n_columns;
    int has_missing;
    double cell[PANEL_COLUMNS][PANEL_ROWS];
};

#if VECTOR_BYTES >= 32
enum { SQUARE = 4 };
typedef double four __attribute__((vector_size(32)));
#define PAIR(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)

INLINE four load_four(const double *from) {
    four v;
    memcpy(&v, from, sizeof v);
    return v;
}

/* Copy a SQUARE x SQUARE square, rows becoming columns. */
INLINE void turn_square(const double *from, ptrdiff_t from_stride, double *to, ptrdiff_t to_stride) {
    four a = load_four(from), b = load_four(from + from_stride), c = load_four(from + 2 * from_stride),
         d = load_four(from + 3 * from_stride);
    four ab_even = PAIR(a, b, 0, 4, 2, 6), ab_odd = PAIR(a, b, 1, 5, 3, 7);
    four cd_even = PAIR(c, d, 0, 4, 2, 6), cd_odd = PAIR(c, d, 1, 5, 3, 7);
    four column[SQUARE] = {PAIR(ab_even, cd_even, 0, 1, 4, 5), PAIR(ab_odd, cd_odd, 0, 1, 4, 5),
                           PAIR(ab_even, cd_even, 2, 3, 6, 7), PAIR(ab_odd, cd_odd, 2, 3, 6, 7)};
    UNROLL
    for (int i = 0; i < SQUARE; i++) memcpy(to + i * to_stride, &column[i], sizeof column[i]);
}
#else
enum { SQUARE = VECTOR_BYTES / 8 };

INLINE void turn_square(const double *from, ptrdiff_t from_stride, double *to, ptrdiff_t to_stride) {
    for (ptrdiff_t r = 0; r < SQUARE; r++)
        for (ptrdiff_t c = 0; c < SQUARE; c++) to[c * to_stride + r] = from[r * from_stride + c];
}
#endif

/* Copy n_rows x n_columns numbers, rows becoming columns. */
static void turn(const double *from, ptrdiff_t from_stride, ptrdiff_t n_rows, ptrdiff_t n_columns, double *to,
                 ptrdiff_t to_stride) {
    ptrdiff_t whole_rows = n_rows - n_rows % SQUARE, whole_columns = n_columns - n_columns % SQUARE;
    for (ptrdiff_t r = 0; r < whole_rows; r += SQUARE)
        for (ptrdiff_t c = 0; c < whole_columns; c += SQUARE)
            turn_square(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    for (ptrdiff_t c = whole_columns; c < n_columns; c++)
        for (ptrdiff_t r = 0; r < whole_rows; r++) to[c * to_stride + r] = from[r * from_stride + c];
    for (ptrdiff_t r = whole_rows; r < n_rows; r++)
        for (ptrdiff_t c = 0; c < n_columns; c++) to[c * to_stride + r] = from[r * from_stride + c];
}

/* Fill the panel from the rows `row` … and the columns `column` … of x. Rows after the last are zeros. */
static void fill_panel(struct panel *panel, const struct dense *x, ptrdiff_t row, ptrdiff_t column) {
    double room[PANEL_ROWS * PANEL_COLUMNS];
    ptrdiff_t n_rows = x->n_rows - row < PANEL_ROWS ? x->n_rows - row : PANEL_ROWS;
    ptrdiff_t n_columns = x->n_features - column < PANEL_COLUMNS ? x->n_features - column : PANEL_COLUMNS;
    panel->n_rows = n_rows;
    panel->n_columns = n_columns;
    if (n_rows < PANEL_ROWS) memset(panel->cell, 0, sizeof panel->cell);
    if (x->type == F64) {
        turn((const double *)x->cells + row * x->n_features + column, x->n_features, n_rows, n_columns,
             panel->cell[0], PANEL_ROWS);
    } else {
        for (ptrdiff_t r = 0; r < n_rows; r++)
            as_doubles(x->cells, x->type, (row + r) * x->n_features + column, n_columns, room + r * PANEL_COLUMNS);
        turn(room, PANEL_COLUMNS, n_rows, n_columns, panel->cell[0], PANEL_ROWS);
    }
    bits missing = {0};
    for (ptrdiff_t c = 0; c < n_columns; c++)
        for (ptrdiff_t v = 0; v < PANEL_VECS; v++) {
            vec cell = load(panel->cell[c] + v * LANES);
            missing |= MASK(cell != cell);
        }
    panel->has_missing = lane_mask(missing) != 0;
}

#endif
