/* Python functions for dense rows: categorical codes, binary cells and counts. */
#include "wrap.h"

static struct dense take_dense(struct call *call, const char *name, unsigned types) {
    struct dense x = {0};
    struct array *array = take(call, name, types, 2, READ);
    if (call->failed) return x;
    x.n_rows = array->shape[0], x.n_features = array->shape[1];
    x.cells = array->data, x.type = array->type;
    return x;
}

/* codes and offsets; the answer is where the offsets lie. */
static const int64_t *take_codes(struct call *call, struct dense *codes, Py_ssize_t *n_levels) {
    *codes = take_dense(call, "codes", I8 | U8 | I16 | I32 | I64);
    struct array *offsets = take(call, "offsets", I64, 1, READ);
    expect(call, offsets, 0, codes->n_features + 1);
    if (call->failed) return NULL;
    const int64_t *offset = (const int64_t *)offsets->data;
    for (Py_ssize_t j = 0; j < codes->n_features; j++)
        if (offset[j] > offset[j + 1]) {
            fail(call, PyExc_ValueError, "%s: offsets decreases after column %zd.", call->function, j);
            return NULL;
        }
    if (offset[0] != 0 || offset[codes->n_features] > INT32_MAX) {
        fail(call, PyExc_ValueError, "%s: offsets spans %lld .. %lld, expected 0 .. fewer than 2^31.",
             call->function, (long long)offset[0], (long long)offset[codes->n_features]);
        return NULL;
    }
    *n_levels = (Py_ssize_t)offset[codes->n_features];
    return offset;
}

/* Turn what a loop over codes or cells answered into an exception. */
static void expect_done(struct call *call, Py_ssize_t answer, const struct dense *codes, const int64_t *offset) {
    if (answer == ALL_VALID || call->failed) return;
    if (answer == OUT_OF_MEMORY) {
        fail(call, PyExc_MemoryError, "%s: no memory for the sums of one chunk.", call->function);
        return;
    }
    Py_ssize_t row = answer / codes->n_features, column = answer % codes->n_features;
    long long code;
    switch (codes->type) {
    case I8: code = ((const int8_t *)codes->cells)[answer]; break;
    case U8: code = ((const uint8_t *)codes->cells)[answer]; break;
    case I16: code = ((const int16_t *)codes->cells)[answer]; break;
    case I32: code = ((const int32_t *)codes->cells)[answer]; break;
    default: code = ((const int64_t *)codes->cells)[answer]; break;
    }
    fail(call, PyExc_IndexError, "codes[%zd, %zd] is %lld, expected a level 0 <= code < %lld or missing.", row, column,
         code, (long long)(offset[column + 1] - offset[column]));
}

WRAPPER(wrap_codes_scores) {
    struct call call;
    struct dense codes;
    Py_ssize_t n_levels = 0, answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "codes_scores", args, n_args, 4)) return NULL;
    const int64_t *offset = take_codes(&call, &codes, &n_levels);
    struct array *table = take(&call, "table", F64, 2, READ), *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, table, 0, n_levels);
    expect(&call, out, 0, codes.n_rows);
    expect(&call, out, 1, table->shape[1]);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->codes_scores(&codes, offset, table->data, table->shape[1], out->data))
    expect_done(&call, answer, &codes, offset);
    return call_end(&call);
}

WRAPPER(wrap_codes_accumulate) {
    struct call call;
    struct dense codes;
    Py_ssize_t n_levels = 0, answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "codes_accumulate", args, n_args, 4)) return NULL;
    const int64_t *offset = take_codes(&call, &codes, &n_levels);
    struct array *resp = take(&call, "resp", F64, 2, READ), *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, resp, 0, codes.n_rows);
    expect(&call, out, 0, n_levels);
    expect(&call, out, 1, resp->shape[1]);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->codes_accumulate(&codes, offset, resp->data, resp->shape[1], out->data))
    expect_done(&call, answer, &codes, offset);
    return call_end(&call);
}

WRAPPER(wrap_codes_class_counts) {
    struct call call;
    struct dense codes;
    Py_ssize_t n_levels = 0, answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "codes_class_counts", args, n_args, 5)) return NULL;
    const int64_t *offset = take_codes(&call, &codes, &n_levels);
    struct array *class_codes = take(&call, "class_codes", I32, 1, READ);
    struct array *weight = take(&call, "weight", F64, 1, READ_OPTIONAL);
    struct array *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, class_codes, 0, codes.n_rows);
    expect(&call, weight, 0, codes.n_rows);
    expect(&call, out, 0, n_levels);
    expect_classes(&call, class_codes, out->shape[1]);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->codes_class_counts(&codes, offset, class_codes->data, weight->data,
                                                                 out->shape[1], out->data))
    expect_done(&call, answer, &codes, offset);
    return call_end(&call);
}

WRAPPER(wrap_codes_pass) {
    struct call call;
    struct dense codes;
    Py_ssize_t n_levels = 0, answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "codes_pass", args, n_args, 8)) return NULL;
    const int64_t *offset = take_codes(&call, &codes, &n_levels);
    struct array *table = take(&call, "table", F64, 2, READ), *weights = take(&call, "log_weights", F64, 1, READ);
    struct array *row_weight = take(&call, "row_weight", F64, 1, READ_OPTIONAL);
    struct array *counts = take(&call, "counts", F64, 2, WRITE), *class_weight = take(&call, "class_weight", F64, 1, WRITE);
    struct array *likelihood = take(&call, "log_likelihood", F64, 1, WRITE);
    Py_ssize_t n_columns = weights->shape[0], n_runs = likelihood->shape[0];
    expect(&call, table, 0, n_levels);
    expect(&call, table, 1, n_columns);
    expect(&call, row_weight, 0, codes.n_rows);
    expect(&call, counts, 0, n_levels);
    expect(&call, counts, 1, n_columns);
    expect(&call, class_weight, 0, n_columns);
    if (n_runs == 0 || n_columns == 0 || n_columns % n_runs != 0)
        fail(&call, PyExc_ValueError, "codes_pass: %zd columns are no whole number of classes for %zd runs.", n_columns,
             n_runs);
    else if ((double)(n_levels + codes.n_features) * (double)(n_columns / n_runs + 8) * 8.0 > (double)UINT32_MAX)
        fail(&call, PyExc_ValueError, "codes_pass: a table of %zd levels and %zd classes is too large.", n_levels,
             n_columns / n_runs);
    if (!call.failed) {
        struct codes_pass pass = {&codes, offset, table->data, weights->data, row_weight->data, n_runs,
                                  n_columns / n_runs, counts->data, class_weight->data, likelihood->data};
        WITHOUT_GIL(answer = softcount_level->codes_pass(&pass))
    }
    expect_done(&call, answer, &codes, offset);
    return call_end(&call);
}

WRAPPER(wrap_dense_scores) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "dense_scores", args, n_args, 3)) return NULL;
    struct dense x = take_dense(&call, "X", ANY_NUMBER);
    struct array *table = take(&call, "table", F64, 2, READ), *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, table, 0, x.n_features);
    expect(&call, out, 0, x.n_rows);
    expect(&call, out, 1, table->shape[1]);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->dense_scores(&x, table->data, table->shape[1], out->data))
    expect_done(&call, answer, &x, NULL);
    return call_end(&call);
}

WRAPPER(wrap_dense_accumulate) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "dense_accumulate", args, n_args, 3)) return NULL;
    struct dense x = take_dense(&call, "X", ANY_NUMBER);
    struct array *resp = take(&call, "resp", F64, 2, READ), *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, resp, 0, x.n_rows);
    expect(&call, out, 0, x.n_features);
    expect(&call, out, 1, resp->shape[1]);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->dense_accumulate(&x, resp->data, resp->shape[1], out->data))
    expect_done(&call, answer, &x, NULL);
    return call_end(&call);
}

WRAPPER(wrap_dense_class_counts) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "dense_class_counts", args, n_args, 4)) return NULL;
    struct dense x = take_dense(&call, "X", ANY_NUMBER);
    struct array *class_codes = take(&call, "class_codes", I32, 1, READ);
    struct array *weight = take(&call, "weight", F64, 1, READ_OPTIONAL);
    struct array *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, class_codes, 0, x.n_rows);
    expect(&call, weight, 0, x.n_rows);
    expect(&call, out, 0, x.n_features);
    expect_classes(&call, class_codes, out->shape[1]);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->dense_class_counts(&x, class_codes->data, weight->data, out->shape[1],
                                                                 out->data))
    expect_done(&call, answer, &x, NULL);
    return call_end(&call);
}

/* The answer is (least, greatest, total, whether any is missing). */
WRAPPER(wrap_number_range) {
    struct call call;
    struct range range = {0};
    (void)module;
    if (!call_begin(&call, "number_range", args, n_args, 1)) return NULL;
    struct array *numbers = take(&call, "numbers", ANY_NUMBER, 1, READ);
    if (!call.failed)
        WITHOUT_GIL(softcount_level->number_range(numbers->data, numbers->type, numbers->shape[0], &range))
    PyObject *none = call_end(&call);
    if (!none) return none;
    return Py_BuildValue("dddN", range.least, range.greatest, range.total, PyBool_FromLong(range.has_missing));
}
