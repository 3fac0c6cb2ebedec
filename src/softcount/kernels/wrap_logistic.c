/* The Python function for the rows of a logistic regression. */
#include "wrap.h"

WRAPPER(wrap_logistic_score) {
    struct call call;
    (void)module;
    if (!call_begin(&call, "logistic_score", args, n_args, 7)) return NULL;
    struct array *x = take(&call, "X", F64, 2, READ), *coef = take(&call, "coef", F64, 1, READ);
    struct array *offset = take(&call, "offset", F64, 1, READ_OPTIONAL), *sign = take(&call, "sign", F64, 1, READ);
    struct array *weight = take(&call, "weight", F64, 1, READ_OPTIONAL);
    struct array *score = take(&call, "score", F64, 1, WRITE);
    struct array *log_likelihood = take(&call, "log_likelihood", F64, 1, WRITE);
    expect(&call, coef, 0, x->shape[1] + 1);
    expect(&call, offset, 0, x->shape[0]);
    expect(&call, sign, 0, x->shape[0]);
    expect(&call, weight, 0, x->shape[0]);
    expect(&call, score, 0, x->shape[1] + 1);
    expect(&call, log_likelihood, 0, 1);
    if (!call.failed) {
        struct labeled rows = {x->shape[0], x->shape[1], x->data, sign->data, offset->data, weight->data};
        WITHOUT_GIL(softcount_level->logistic_score(&rows, coef->data, score->data, log_likelihood->data))
    }
    return call_end(&call);
}
