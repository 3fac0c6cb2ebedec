/* Python functions for Gaussian rows, and for turning scores into responsibilities. */
#include "wrap.h"

static struct dense take_real(struct call *call) {
    struct dense x = {0};
    struct array *array = take(call, "X", F64 | F32, 2, READ);
    if (call->failed) return x;
    x.n_rows = array->shape[0], x.n_features = array->shape[1];
    x.cells = array->data, x.type = array->type;
    return x;
}

/* The next argument: doubles of exactly this shape. */
static double *take_shape(struct call *call, const char *name, enum access access, int n_dims, Py_ssize_t first,
                          Py_ssize_t second, Py_ssize_t third) {
    struct array *array = take(call, name, F64, n_dims, access);
    const Py_ssize_t shape[3] = {first, second, third};
    for (int i = 0; i < n_dims; i++) expect(call, array, i, shape[i]);
    return (double *)array->data;
}

static PyObject *finish(struct call *call, Py_ssize_t answer) {
    if (answer == OUT_OF_MEMORY)
        fail(call, PyExc_MemoryError, "%s: no memory for the sums of one chunk.", call->function);
    return call_end(call);
}

WRAPPER(wrap_gaussian_scores) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "gaussian_scores", args, n_args, 4)) return NULL;
    struct dense x = take_real(&call);
    struct array *mean = take(&call, "mean", F64, 2, READ);
    Py_ssize_t d = x.n_features, n_classes = mean->shape[1];
    expect(&call, mean, 0, d);
    const double *precision = take_shape(&call, "precision", READ, 2, d, n_classes, 0);
    double *out = take_shape(&call, "out", WRITE, 2, x.n_rows, n_classes, 0);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->gaussian_scores(&x, mean->data, precision, n_classes, out))
    return finish(&call, answer);
}

WRAPPER(wrap_gaussian_moments) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "gaussian_moments", args, n_args, 6)) return NULL;
    struct dense x = take_real(&call);
    struct array *resp = take(&call, "resp", F64, 2, READ);
    Py_ssize_t d = x.n_features, n_classes = resp->shape[1];
    expect(&call, resp, 0, x.n_rows);
    const double *center = take_shape(&call, "center", READ, 2, d, n_classes, 0);
    struct moments out;
    out.weight = take_shape(&call, "weight_out", WRITE, 2, d, n_classes, 0);
    out.sum = take_shape(&call, "sum_out", WRITE, 2, d, n_classes, 0);
    out.square = take_shape(&call, "square_out", WRITE, 2, d, n_classes, 0);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->gaussian_moments(&x, resp->data, center, n_classes, out))
    return finish(&call, answer);
}

WRAPPER(wrap_gaussian_class_moments) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "gaussian_class_moments", args, n_args, 7)) return NULL;
    struct dense x = take_real(&call);
    struct array *class_codes = take(&call, "class_codes", I32, 1, READ);
    struct array *weight = take(&call, "weight", F64, 1, READ_OPTIONAL);
    struct array *center = take(&call, "center", F64, 2, READ);
    Py_ssize_t d = x.n_features, n_classes = center->shape[1];
    expect(&call, class_codes, 0, x.n_rows);
    expect(&call, weight, 0, x.n_rows);
    expect(&call, center, 0, d);
    struct moments out;
    out.weight = take_shape(&call, "weight_out", WRITE, 2, d, n_classes, 0);
    out.sum = take_shape(&call, "sum_out", WRITE, 2, d, n_classes, 0);
    out.square = take_shape(&call, "square_out", WRITE, 2, d, n_classes, 0);
    expect_classes(&call, class_codes, n_classes);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->gaussian_class_moments(&x, class_codes->data, weight->data,
                                                                     center->data, n_classes, out))
    return finish(&call, answer);
}

WRAPPER(wrap_full_scores) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "gaussian_full_scores", args, n_args, 5)) return NULL;
    struct dense x = take_real(&call);
    struct array *mean = take(&call, "mean", F64, 2, READ);
    Py_ssize_t d = x.n_features, n_classes = mean->shape[0];
    expect(&call, mean, 1, d);
    const double *precision_chol = take_shape(&call, "precision_chol", READ, 3, n_classes, d, d);
    const double *log_det = take_shape(&call, "log_det", READ, 1, n_classes, 0, 0);
    double *out = take_shape(&call, "out", WRITE, 2, x.n_rows, n_classes, 0);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->full_scores(&x, mean->data, precision_chol, log_det, n_classes, out))
    return finish(&call, answer);
}

WRAPPER(wrap_full_moments) {
    struct call call;
    Py_ssize_t answer = ALL_VALID;
    (void)module;
    if (!call_begin(&call, "gaussian_full_moments", args, n_args, 6)) return NULL;
    struct dense x = take_real(&call);
    struct array *resp = take(&call, "resp", F64, 2, READ);
    Py_ssize_t d = x.n_features, n_classes = resp->shape[1];
    expect(&call, resp, 0, x.n_rows);
    const double *center = take_shape(&call, "center", READ, 2, n_classes, d, 0);
    struct moments out;
    out.weight = take_shape(&call, "weight_out", WRITE, 1, n_classes, 0, 0);
    out.sum = take_shape(&call, "sum_out", WRITE, 2, n_classes, d, 0);
    out.square = take_shape(&call, "scatter_out", WRITE, 3, n_classes, d, d);
    if (!call.failed)
        WITHOUT_GIL(answer = softcount_level->full_moments(&x, resp->data, center, n_classes, out))
    return finish(&call, answer);
}

WRAPPER(wrap_normalize_rows) {
    struct call call;
    double log_likelihood = 0.0;
    (void)module;
    if (!call_begin(&call, "normalize_rows", args, n_args, 4)) return NULL;
    struct array *scores = take(&call, "scores", F64, 2, WRITE);
    Py_ssize_t n_rows = scores->shape[0], n_classes = scores->shape[1];
    struct array *row_weight = take(&call, "row_weight", F64, 1, READ_OPTIONAL);
    const double *fallback = take_shape(&call, "fallback_log_prob", READ, 1, n_classes, 0, 0);
    struct array *log_norm = take(&call, "log_norm_out", F64, 1, WRITE_OPTIONAL);
    expect(&call, row_weight, 0, n_rows);
    expect(&call, log_norm, 0, n_rows);
    if (n_classes == 0) fail(&call, PyExc_ValueError, "normalize_rows: scores has no classes.");
    if (!call.failed)
        WITHOUT_GIL(log_likelihood = softcount_level->normalize_rows(scores->data, n_rows, n_classes,
                                                                     row_weight->data, fallback, log_norm->data))
    PyObject *none = call_end(&call);
    if (!none) return NULL;
    Py_DECREF(none);
    return PyFloat_FromDouble(log_likelihood);
}
