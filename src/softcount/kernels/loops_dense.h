/* Dense binary and count rows. Most of their cells are usually zero: then only the others are listed and counted. Where
 * they are not, small matrix products are faster. */
#include <stdlib.h>

#include "byte_lists.h"
#include "loops_product.h"

/* A piece of a row: bytes as they are, other cells as numbers. */
struct piece {
    const uint8_t *byte;
    const double *cell; /* NULL: the cells are bytes */
};

/* The piece of n cells from `start` on, converted into the given room where necessary. */
static struct piece take_piece(const struct dense *x, ptrdiff_t start, ptrdiff_t n, double *room) {
    struct piece piece = {(const uint8_t *)x->cells + start, NULL};
    if (x->type != U8) piece.cell = as_doubles(x->cells, x->type, start, n, room);
    return piece;
}

static inline double cell_at(struct piece piece, ptrdiff_t j) {
    return piece.cell ? piece.cell[j] : (double)piece.byte[j];
}

/* A mask of the cells j … j + 7 that are neither zero nor NaN, of which n exist. `others` becomes non-zero if any of
 * them is not 1. */
INLINE unsigned mask_of_eight(struct piece piece, ptrdiff_t j, ptrdiff_t n, uint64_t *others) {
    unsigned mask = 0;
    if (!piece.cell) {
        uint64_t eight = eight_bytes(piece.byte + j, n);
        *others |= not_one(eight);
        return nonzero_mask(eight);
    }
    if (n < 8) {
        for (ptrdiff_t e = 0; e < n; e++) {
            double value = piece.cell[j + e];
            mask |= (unsigned)((value != 0.0) & (value == value)) << e;
            *others |= value != 0.0 && value != 1.0;
        }
        return mask;
    }
    bits uncommon = {0};
    UNROLL
    for (int v = 0; v < 8 / (int)LANES; v++) {
        vec value = load(piece.cell + j + v * LANES);
        bits counted = MASK(value != splat(0.0)) & MASK(value == value);
        uncommon |= counted & MASK(value != splat(1.0));
        mask |= lane_mask(counted) << (v * (int)LANES);
    }
    *others |= lane_mask(uncommon);
    return mask;
}

/* Whether more than three eighths of the cells are neither zero nor NaN, judged by a few rows. */
static int mostly_nonzero(const struct dense *x) {
    double room[LIST_ROOM];
    ptrdiff_t n_cells = x->n_features < LIST_ROOM ? x->n_features : LIST_ROOM, n_looked = 0, n_nonzero = 0;
    uint64_t others = 0;
    for (ptrdiff_t i = 0; i < x->n_rows; i += x->n_rows / 16 + 1) {
        struct piece piece = take_piece(x, i * x->n_features, n_cells, room);
        for (ptrdiff_t c = 0; c < n_cells; c += 8)
            n_nonzero += softcount_n_set_bits[mask_of_eight(piece, c, n_cells - c, &others)];
        n_looked += n_cells;
    }
    return 8 * n_nonzero > 3 * n_looked;
}

static int all_finite(const double *x, ptrdiff_t n) {
    bits unusual = {0};
    ptrdiff_t i = 0;
    for (; i + LANES <= n; i += LANES) unusual |= MASK(load(x + i) - load(x + i) != splat(0.0));
    int finite = lane_mask(unusual) == 0;
    for (; i < n; i++) finite &= x[i] - x[i] == 0.0;
    return finite;
}

/* A piece of a row as numbers, zero where they are NaN. */
static void fill_row(const struct dense *x, ptrdiff_t start, ptrdiff_t n, double *to) {
    const double *cell = as_doubles(x->cells, x->type, start, n, to);
    for (ptrdiff_t j = 0; j < n; j++) to[j] = cell[j] == cell[j] ? cell[j] : 0.0;
}

/* Add the table rows of one list to one row of out. */
struct list_job {
    struct list list;
    const double *table;
    double *out;
};

INLINE void gather_block(const struct list_job *job, struct block block, const int shape) {
    gather(job->list, job->table + block.first, block, job->out + block.first, shape);
}
FOR_ALL_SHAPES(gather_block, list_job)

static void scores_from_lists(const struct dense *x, const double *table, ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM + LIST_SLACK];
    double values[LIST_ROOM];
    double room[LIST_ROOM];
    for (ptrdiff_t i = 0; i < x->n_rows; i++)
        for (ptrdiff_t j = 0; j < x->n_features; j += LIST_ROOM) {
            ptrdiff_t n_cells = x->n_features - j < LIST_ROOM ? x->n_features - j : LIST_ROOM, n = 0;
            struct piece piece = take_piece(x, i * x->n_features + j, n_cells, room);
            uint64_t others = 0;
            for (ptrdiff_t c = 0; c < n_cells; c += 8)
                n = append_set_bits(mask_of_eight(piece, c, n_cells - c, &others), c, positions, n);
            for (ptrdiff_t p = 0; others && p < n; p++) values[p] = cell_at(piece, positions[p]);
            struct list_job job = {{positions, others ? values : NULL, n, n}, table + j * n_classes,
                                   out + i * n_classes};
            gather_block_all(&job, n_classes);
        }
}

static void scores_from_products(const struct dense *x, const double *table, ptrdiff_t n_classes, double *out) {
    enum { CELLS = LIST_ROOM / PRODUCT_ROWS };
    double room[PRODUCT_ROWS][CELLS] = {{0.0}};
    for (ptrdiff_t i = 0; i < x->n_rows; i += PRODUCT_ROWS)
        for (ptrdiff_t j = 0; j < x->n_features; j += CELLS) {
            struct product_job job = {.step = 1, .table = table + j * n_classes, .out = out + i * n_classes};
            job.n = x->n_features - j < CELLS ? x->n_features - j : CELLS;
            job.n_rows = x->n_rows - i < PRODUCT_ROWS ? x->n_rows - i : PRODUCT_ROWS;
            for (ptrdiff_t r = 0; r < PRODUCT_ROWS; r++) {
                job.row[r] = room[r];
                if (r < job.n_rows) fill_row(x, (i + r) * x->n_features + j, job.n, room[r]);
            }
            product_block_all(&job, n_classes);
        }
}

static ptrdiff_t dense_scores(const struct dense *x, const double *table, ptrdiff_t n_classes, double *out) {
    if (products_pay(x->n_rows, n_classes) && mostly_nonzero(x) && all_finite(table, x->n_features * n_classes))
        scores_from_products(x, table, n_classes, out);
    else
        scores_from_lists(x, table, n_classes, out);
    return ALL_VALID;
}

/* Counting goes column by column within a tile of rows and columns: the tile is first turned into one list of rows
 * per column, and the responsibilities of its rows stay in the cache while the lists are summed. */
enum { TILE_ROWS = 128, TILE_COLUMNS = 64 };

static const uint8_t no_cells[TILE_COLUMNS] = {0};

struct tile {
    ptrdiff_t n[TILE_COLUMNS];
    int32_t rows[TILE_COLUMNS][TILE_ROWS + LIST_SLACK];
    double values[TILE_ROWS];
    struct piece row[TILE_ROWS];
    double room[TILE_ROWS][TILE_COLUMNS + 8]; /* 8 more, so that the rows do not all share the same cache sets */
};

/* Eight rows by eight columns at a time: the masks of the rows, reflected, are the masks of the columns. The answer is
 * whether there are cells other than 0 and 1. */
static int list_rows(struct tile *tile, ptrdiff_t n_rows, ptrdiff_t n_columns) {
    uint64_t others = 0;
    for (ptrdiff_t r = 0; r < n_rows; r += 8)
        for (ptrdiff_t c = 0; c < n_columns; c += 8) {
            uint64_t square = 0;
            UNROLL
            for (int e = 0; e < 8; e++)
                square |= (uint64_t)mask_of_eight(tile->row[r + e], c, n_columns - c, &others) << (8 * e);
            square = turn_bits(square);
            UNROLL
            for (int e = 0; e < 8; e++)
                tile->n[c + e] = append_set_bits(square >> (8 * e) & 255, r, tile->rows[c + e], tile->n[c + e]);
        }
    return others != 0;
}

/* The part of the table that a tile is, its first row and column, and how many there are. */
struct span {
    ptrdiff_t i, n_rows, j, n_columns;
};

static void count_lists(const struct dense *x, struct span at, const double *resp, ptrdiff_t n_classes,
                        struct tile *tile, double *out) {
    static const struct piece empty = {no_cells, NULL};
    memset(tile->n, 0, sizeof tile->n);
    for (ptrdiff_t r = 0; r < at.n_rows; r++)
        tile->row[r] = take_piece(x, (at.i + r) * x->n_features + at.j, at.n_columns, tile->room[r]);
    for (ptrdiff_t r = at.n_rows; r % 8 != 0; r++) tile->row[r] = empty;
    int weighted = list_rows(tile, at.n_rows, at.n_columns);
    for (ptrdiff_t c = 0; c < at.n_columns; c++) {
        for (ptrdiff_t p = 0; weighted && p < tile->n[c]; p++)
            tile->values[p] = cell_at(tile->row[tile->rows[c][p]], c);
        struct list list = {tile->rows[c], weighted ? tile->values : NULL, tile->n[c], tile->n[c]};
        struct list_job job = {list, resp + at.i * n_classes, out + (at.j + c) * n_classes};
        gather_block_all(&job, n_classes);
    }
}

static void count_products(const struct dense *x, struct span at, const double *resp, ptrdiff_t n_classes,
                           struct tile *tile, double *out) {
    for (ptrdiff_t r = 0; r < at.n_rows; r++)
        fill_row(x, (at.i + r) * x->n_features + at.j, at.n_columns, tile->room[r]);
    for (ptrdiff_t c = 0; c < at.n_columns; c += PRODUCT_ROWS) {
        struct product_job job = {.step = TILE_COLUMNS + 8, .n = at.n_rows, .table = resp + at.i * n_classes};
        job.n_rows = at.n_columns - c < PRODUCT_ROWS ? at.n_columns - c : PRODUCT_ROWS;
        job.out = out + (at.j + c) * n_classes;
        for (ptrdiff_t r = 0; r < PRODUCT_ROWS; r++) job.row[r] = &tile->room[0][c + r];
        product_block_all(&job, n_classes);
    }
}

static ptrdiff_t dense_accumulate(const struct dense *x, const double *resp, ptrdiff_t n_classes, double *out) {
    struct tile *tile = (struct tile *)calloc(1, sizeof *tile);
    if (!tile) return OUT_OF_MEMORY;
    int by_products = products_pay(x->n_rows, n_classes) && mostly_nonzero(x);
    for (ptrdiff_t i = 0; i < x->n_rows; i += TILE_ROWS)
        for (ptrdiff_t j = 0; j < x->n_features; j += TILE_COLUMNS) {
            struct span at = {i, x->n_rows - i, j, x->n_features - j};
            if (at.n_rows > TILE_ROWS) at.n_rows = TILE_ROWS;
            if (at.n_columns > TILE_COLUMNS) at.n_columns = TILE_COLUMNS;
            if (by_products) count_products(x, at, resp, n_classes, tile, out);
            else count_lists(x, at, resp, n_classes, tile, out);
        }
    free(tile);
    return ALL_VALID;
}

/* Whole rows are added to the sums of their class, which lie one class after the other until all rows are done. */
static ptrdiff_t dense_class_counts(const struct dense *x, const int32_t *class_codes, const double *weight,
                                    ptrdiff_t n_classes, double *out) {
    double room[LIST_ROOM];
    ptrdiff_t d = x->n_features;
    double *by_class = (double *)calloc((size_t)(n_classes * d) + 1, sizeof *by_class);
    if (!by_class) return OUT_OF_MEMORY;
    for (ptrdiff_t i = 0; i < x->n_rows; i++) {
        double row_weight = weight ? weight[i] : 1.0;
        if (class_codes[i] < 0 || row_weight == 0.0) continue;
        for (ptrdiff_t j = 0; j < d; j += LIST_ROOM) {
            ptrdiff_t n = d - j < LIST_ROOM ? d - j : LIST_ROOM;
            const double *cell = as_doubles(x->cells, x->type, i * d + j, n, room);
            double *sum = by_class + class_codes[i] * d + j;
            for (ptrdiff_t e = 0; e < n; e++) sum[e] += cell[e] == cell[e] ? row_weight * cell[e] : 0.0;
        }
    }
    for (ptrdiff_t j = 0; j < d; j++)
        for (ptrdiff_t k = 0; k < n_classes; k++) out[j * n_classes + k] += by_class[k * d + j];
    free(by_class);
    return ALL_VALID;
}
