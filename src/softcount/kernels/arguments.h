/* From Python arguments to checked C arrays, through the buffer protocol: NumPy is not needed to compile this.
 *
 * A wrapper takes its arguments one after the other, checks how their shapes fit together, runs the loop without the
 * GIL and ends the call:
 *
 *     struct call call;
 *     if (!call_begin(&call, "name", args, n_args, 2)) return NULL;
 *     struct array *x = take(&call, "x", F64, 2, READ);
 *     struct array *out = take(&call, "out", F64, 1, WRITE);
 *     expect(&call, out, "out", 0, x->shape[0]);
 *     if (!call.failed) { … }
 *     return call_end(&call);
 *
 * After the first failure every further step does nothing, so only the last one needs an `if`. */
#ifndef SOFTCOUNT_ARGUMENTS_H
#define SOFTCOUNT_ARGUMENTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "level.h"

enum { MOST_ARGUMENTS = 9 };

/* One array argument, C-contiguous. An optional argument that is None has data == NULL. */
struct array {
    Py_buffer view;
    const char *name;
    void *data;
    Py_ssize_t shape[3];
    enum number type;
};

struct call {
    const char *function;
    PyObject *const *args;
    struct array array[MOST_ARGUMENTS];
    int n_taken, failed;
};

enum access { READ, READ_OPTIONAL, WRITE, WRITE_OPTIONAL };

int call_begin(struct call *call, const char *function, PyObject *const *args, Py_ssize_t n_args, int expected);

/* The next argument: an array with n_dims dimensions whose type is one of `types` (enum numbers, or-ed). */
struct array *take(struct call *call, const char *name, unsigned types, int n_dims, enum access access);

/* The next argument: an integer that is not negative. */
Py_ssize_t take_size(struct call *call, const char *name);

/* Fail unless the array's dimension has this size. None fits everything. */
void expect(struct call *call, const struct array *array, int dimension, Py_ssize_t size);

/* Fail unless every class code is -1 or a class. */
void expect_classes(struct call *call, const struct array *class_codes, Py_ssize_t n_classes);

/* Fail with this exception, unless something has failed before. */
void fail(struct call *call, PyObject *exception, const char *format, ...);

/* Release all arrays. The answer is None, or NULL with the exception set. */
PyObject *call_end(struct call *call);

/* Run a statement without the GIL. */
#define WITHOUT_GIL(statement) \
    Py_BEGIN_ALLOW_THREADS statement; Py_END_ALLOW_THREADS

/* The instruction-set level in use. */
extern const struct level *softcount_level;

#endif
