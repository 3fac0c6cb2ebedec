/* Categorical rows: each cell that is present names one row of the table. */
#include "loops_rows.h"

#define COPY_CODES(type, missing)                                                \
    do {                                                                         \
        const type *source = (const type *)codes->cells + start;                 \
        for (ptrdiff_t j = 0; j < n; j++) room[j] = source[j] == (missing) ? -1 : (int32_t)source[j]; \
    } while (0)

/* The n codes from cell `start` on, -1 standing for missing. */
static const int32_t *as_codes(const struct dense *codes, ptrdiff_t start, ptrdiff_t n, int32_t *room) {
    switch (codes->type) {
    case I8: COPY_CODES(int8_t, -1); break;
    case U8: COPY_CODES(uint8_t, 255); break;
    case I16: COPY_CODES(int16_t, -1); break;
    case I64: /* what does not fit 32 bits is out of range in any case */
        for (ptrdiff_t j = 0; j < n; j++) {
            int64_t code = ((const int64_t *)codes->cells)[start + j];
            room[j] = code < -1 || code > INT32_MAX ? INT32_MAX : (int32_t)code;
        }
        break;
    default: return (const int32_t *)codes->cells + start;
    }
    return room;
}

/* List the table rows of the cells first … first + n - 1 of row i. Missing cells are overwritten by the next present
 * one instead of being jumped over: where cells are missing at random, the processor cannot predict the jump. */
static int list_levels(const struct dense *codes, const int64_t *offsets, ptrdiff_t i, ptrdiff_t first, ptrdiff_t n,
                       int32_t *positions, struct list *list) {
    int32_t room[LIST_ROOM];
    const int32_t *code = as_codes(codes, i * codes->n_features + first, n, room);
    const int64_t *offset = offsets + first;
    int wrong = 0;
    ptrdiff_t present = 0;
    for (ptrdiff_t j = 0; j < n; j++) {
        wrong |= (code[j] < -1) | (code[j] >= offset[j + 1] - offset[j]);
        positions[present] = (int32_t)offset[j] + code[j];
        present += code[j] >= 0;
    }
    list->position = positions;
    list->value = NULL;
    list->n = present;
    return !wrong;
}

static ptrdiff_t first_wrong_code(const struct dense *codes, const int64_t *offsets, ptrdiff_t start) {
    for (ptrdiff_t cell = start; cell < codes->n_rows * codes->n_features; cell++) {
        int32_t room;
        int32_t code = *as_codes(codes, cell, 1, &room);
        ptrdiff_t j = cell % codes->n_features;
        if (code < -1 || code >= offsets[j + 1] - offsets[j]) return cell;
    }
    return ALL_VALID;
}

static ptrdiff_t cells_at_once(const struct dense *x, ptrdiff_t first) {
    return x->n_features - first < LIST_ROOM ? x->n_features - first : LIST_ROOM;
}

static ptrdiff_t codes_scores(const struct dense *codes, const int64_t *offsets, const double *table,
                              ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    for (ptrdiff_t b = 0; b < count_blocks(n_classes); b++) {
        struct block block = block_at(n_classes, b);
        for (ptrdiff_t i = 0; i < codes->n_rows; i++)
            for (ptrdiff_t j = 0; j < codes->n_features; j += LIST_ROOM) {
                struct list list;
                if (!list_levels(codes, offsets, i, j, cells_at_once(codes, j), positions, &list))
                    return first_wrong_code(codes, offsets, i * codes->n_features + j);
                block.gather(list, table + block.first, n_classes, block.width, out + i * n_classes + block.first);
            }
    }
    return ALL_VALID;
}

static ptrdiff_t codes_accumulate(const struct dense *codes, const int64_t *offsets, const double *resp,
                                  ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    for (ptrdiff_t b = 0; b < count_blocks(n_classes); b++) {
        struct block block = block_at(n_classes, b);
        for (ptrdiff_t i = 0; i < codes->n_rows; i++)
            for (ptrdiff_t j = 0; j < codes->n_features; j += LIST_ROOM) {
                struct list list;
                if (!list_levels(codes, offsets, i, j, cells_at_once(codes, j), positions, &list))
                    return first_wrong_code(codes, offsets, i * codes->n_features + j);
                block.scatter(list, resp + i * n_classes + block.first, n_classes, block.width, out + block.first);
            }
    }
    return ALL_VALID;
}

static ptrdiff_t codes_class_counts(const struct dense *codes, const int64_t *offsets, const int32_t *class_codes,
                                    const double *weight, ptrdiff_t n_classes, double *out) {
    int32_t positions[LIST_ROOM];
    for (ptrdiff_t i = 0; i < codes->n_rows; i++) {
        const double one = 1.0, *row = weight ? weight + i : &one;
        for (ptrdiff_t j = 0; j < codes->n_features; j += LIST_ROOM) {
            struct list list;
            if (!list_levels(codes, offsets, i, j, cells_at_once(codes, j), positions, &list))
                return first_wrong_code(codes, offsets, i * codes->n_features + j);
            if (class_codes[i] >= 0) scatter_narrow(list, row, n_classes, out + class_codes[i], 1);
        }
    }
    return ALL_VALID;
}
