/* Dense binary and count rows, of which most cells are usually zero: only the others are listed and counted. */
#include <stdlib.h>

#include "byte_lists.h"
#include "loops_rows.h"

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

static ptrdiff_t dense_scores(const struct dense *x, const double *table, ptrdiff_t n_classes, double *out) {
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
    double room[TILE_ROWS][TILE_COLUMNS];
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

static ptrdiff_t dense_accumulate(const struct dense *x, const double *resp, ptrdiff_t n_classes, double *out) {
    static const struct piece empty = {no_cells, NULL};
    struct tile *tile = (struct tile *)malloc(sizeof *tile);
    if (!tile) return OUT_OF_MEMORY;
    for (ptrdiff_t i = 0; i < x->n_rows; i += TILE_ROWS)
        for (ptrdiff_t j = 0; j < x->n_features; j += TILE_COLUMNS) {
            ptrdiff_t n_rows = x->n_rows - i < TILE_ROWS ? x->n_rows - i : TILE_ROWS;
            ptrdiff_t n_columns = x->n_features - j < TILE_COLUMNS ? x->n_features - j : TILE_COLUMNS;
            memset(tile->n, 0, sizeof tile->n);
            for (ptrdiff_t r = 0; r < n_rows; r++)
                tile->row[r] = take_piece(x, (i + r) * x->n_features + j, n_columns, tile->room[r]);
            for (ptrdiff_t r = n_rows; r % 8 != 0; r++) tile->row[r] = empty;
            int weighted = list_rows(tile, n_rows, n_columns);
            for (ptrdiff_t c = 0; c < n_columns; c++) {
                for (ptrdiff_t p = 0; weighted && p < tile->n[c]; p++)
                    tile->values[p] = cell_at(tile->row[tile->rows[c][p]], c);
                struct list list = {tile->rows[c], weighted ? tile->values : NULL, tile->n[c], tile->n[c]};
                struct list_job job = {list, resp + i * n_classes, out + (j + c) * n_classes};
                gather_block_all(&job, n_classes);
            }
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
