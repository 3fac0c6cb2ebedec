/* Python functions for sparse rows. */
#include "wrap.h"

/* indptr, indices, data: the arrays of a chunk, checked as far as is possible without the number of columns. */
static struct sparse take_sparse(struct call *call) {
    struct sparse x = {0};
    struct array *indptr = take(call, "indptr", I32 | I64, 1, READ);
    struct array *indices = take(call, "indices", I32 | I64, 1, READ);
    struct array *data = take(call, "data", ANY_NUMBER, 1, READ_OPTIONAL);
    if (!call->failed && indptr->shape[0] == 0)
        fail(call, PyExc_ValueError, "%s: indptr is empty, expected n_rows + 1 entries.", call->function);
    expect(call, data, 0, indices->shape[0]);
    if (call->failed) return x;
    x.n_rows = indptr->shape[0] - 1;
    x.indptr = indptr->data, x.indices = indices->data, x.data = data->data;
    x.indptr_type = indptr->type, x.indices_type = indices->type, x.data_type = data->type;
    return x;
}

static int64_t index_at(const void *array, enum number type, Py_ssize_t i) {
    return type == I32 ? ((const int32_t *)array)[i] : ((const int64_t *)array)[i];
}

/* After this the loops may trust every row and every column number. */
static void expect_pattern(struct call *call, struct sparse *x, Py_ssize_t n_features) {
    if (call->failed) return;
    x->n_features = n_features;
    if (n_features > INT32_MAX) {
        fail(call, PyExc_ValueError, "%s: %zd columns, expected fewer than 2^31.", call->function, n_features);
        return;
    }
    for (Py_ssize_t i = 0; i < x->n_rows; i++)
        if (index_at(x->indptr, x->indptr_type, i + 1) < index_at(x->indptr, x->indptr_type, i)) {
            fail(call, PyExc_ValueError, "%s: indptr decreases after row %zd.", call->function, i);
            return;
        }
    int64_t start = index_at(x->indptr, x->indptr_type, 0), stop = index_at(x->indptr, x->indptr_type, x->n_rows);
    Py_ssize_t n_indices = call->array[1].shape[0];
    if (start < 0 || stop > n_indices) {
        fail(call, PyExc_ValueError, "%s: indptr spans %lld .. %lld, but there are %zd indices.", call->function,
             (long long)start, (long long)stop, n_indices);
        return;
    }
    Py_ssize_t wrong;
    WITHOUT_GIL(wrong = softcount_level->csr_check(x))
    if (wrong != ALL_VALID)
        fail(call, PyExc_IndexError, "%s: indices[%zd] is %lld, expected 0 <= index < %zd columns.", call->function,
             wrong, (long long)index_at(x->indices, x->indices_type, wrong), n_features);
}

PyObject *wrap_csr_scores(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "csr_scores", args, n_args, 5)) return NULL;
    struct sparse x = take_sparse(&call);
    struct array *table = take(&call, "table", F64, 2, READ), *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, out, 0, x.n_rows);
    expect(&call, out, 1, table->shape[1]);
    expect_pattern(&call, &x, table->shape[0]);
    if (!call.failed) WITHOUT_GIL(softcount_level->csr_scores(&x, table->data, table->shape[1], out->data))
    return call_end(&call);
}

PyObject *wrap_csr_accumulate(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "csr_accumulate", args, n_args, 5)) return NULL;
    struct sparse x = take_sparse(&call);
    struct array *resp = take(&call, "resp", F64, 2, READ), *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, resp, 0, x.n_rows);
    expect(&call, out, 1, resp->shape[1]);
    expect_pattern(&call, &x, out->shape[0]);
    if (!call.failed) WITHOUT_GIL(softcount_level->csr_accumulate(&x, resp->data, resp->shape[1], out->data))
    return call_end(&call);
}

PyObject *wrap_csr_class_counts(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "csr_class_counts", args, n_args, 6)) return NULL;
    struct sparse x = take_sparse(&call);
    struct array *class_codes = take(&call, "class_codes", I32, 1, READ);
    struct array *weight = take(&call, "weight", F64, 1, READ_OPTIONAL);
    struct array *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, class_codes, 0, x.n_rows);
    expect(&call, weight, 0, x.n_rows);
    expect_classes(&call, class_codes, out->shape[0]);
    expect_pattern(&call, &x, out->shape[1]);
    if (!call.failed)
        WITHOUT_GIL(softcount_level->csr_class_counts(&x, class_codes->data, weight->data, out->shape[0], out->data))
    return call_end(&call);
}

/* Whether a row lists a column twice; `mark` tells of every column in which row it was seen last. */
static int has_repeats(const struct sparse *x, int32_t *mark) {
    for (int32_t i = 0; i < (int32_t)x->n_rows; i++) {
        int64_t stop = index_at(x->indptr, x->indptr_type, i + 1);
        for (int64_t p = index_at(x->indptr, x->indptr_type, i); p < stop; p++) {
            int64_t column = index_at(x->indices, x->indices_type, p);
            if (mark[column] == i) return 1;
            mark[column] = i;
        }
    }
    return 0;
}

/* The caller provides `mark`, of which every number is -1. */
PyObject *wrap_csr_repeats(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "csr_repeats", args, n_args, 4)) return NULL;
    struct sparse x = take_sparse(&call);
    struct array *mark = take(&call, "mark", I32, 1, WRITE);
    expect_pattern(&call, &x, mark->shape[0]);
    if (!call.failed && x.n_rows > INT32_MAX)
        fail(&call, PyExc_ValueError, "csr_repeats: %zd rows, expected fewer than 2^31.", x.n_rows);
    int found = 0;
    if (!call.failed) WITHOUT_GIL(found = has_repeats(&x, mark->data))
    PyObject *none = call_end(&call);
    if (!none) return NULL;
    Py_DECREF(none);
    return PyBool_FromLong(found);
}

PyObject *wrap_words_accumulate(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "csr_accumulate_words", args, n_args, 6)) return NULL;
    struct array *words = take(&call, "words", I32, 1, READ), *starts = take(&call, "starts", I32, 1, READ);
    struct array *rows = take(&call, "rows", U16, 1, READ), *counts = take(&call, "counts", U8, 1, READ_OPTIONAL);
    struct array *resp = take(&call, "resp", F64, 2, READ), *out = take(&call, "out", F64, 2, WRITE);
    expect(&call, starts, 0, words->shape[0] + 1);
    expect(&call, counts, 0, rows->shape[0]);
    expect(&call, out, 1, resp->shape[1]);
    struct words index = {words->shape[0], resp->shape[0], words->data, starts->data, rows->data, counts->data};
    if (!call.failed && !softcount_level->words_check(&index, rows->shape[0], out->shape[0]))
        fail(&call, PyExc_IndexError, "csr_accumulate_words: the index does not fit the rows of resp and out.");
    if (!call.failed)
        WITHOUT_GIL(softcount_level->words_accumulate(&index, resp->data, resp->shape[1], out->data))
    return call_end(&call);
}

/* The caller provides the memory: cursor (n_features), words and starts (one more) for as many columns as can occur,
 * rows and counts for every entry. The answer is (n_words, n_entries, whether any count differs from 1), or None if a
 * value does not fit a byte. */
PyObject *wrap_word_index(PyObject *module, PyObject *const *args, Py_ssize_t n_args) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "csr_word_index", args, n_args, 8)) return NULL;
    struct sparse x = take_sparse(&call);
    struct array *cursor = take(&call, "cursor", I32, 1, WRITE), *words = take(&call, "words", I32, 1, WRITE);
    struct array *starts = take(&call, "starts", I32, 1, WRITE), *rows = take(&call, "rows", U16, 1, WRITE);
    struct array *counts = take(&call, "counts", U8, 1, WRITE);
    expect_pattern(&call, &x, cursor->shape[0]);
    Py_ssize_t n_entries = call.failed ? 0 : (Py_ssize_t)(index_at(x.indptr, x.indptr_type, x.n_rows) -
                                                          index_at(x.indptr, x.indptr_type, 0));
    expect(&call, rows, 0, n_entries);
    expect(&call, counts, 0, n_entries);
    expect(&call, words, 0, n_entries < x.n_features ? n_entries : x.n_features);
    expect(&call, starts, 0, words->shape[0] + 1);
    if (!call.failed && (x.n_rows > 65536 || n_entries > INT32_MAX))
        fail(&call, PyExc_ValueError, "csr_word_index: %zd rows, expected at most 65536.", x.n_rows);
    struct word_space space = {cursor->data, words->data, starts->data, rows->data, counts->data, 0, 0, 0};
    int fits = 0;
    if (!call.failed) WITHOUT_GIL(fits = softcount_sort_by_word(&x, &space))
    PyObject *none = call_end(&call);
    if (!none || !fits) return none;
    return Py_BuildValue("nni", (Py_ssize_t)space.n_words, (Py_ssize_t)space.n_entries, space.has_counts);
}
