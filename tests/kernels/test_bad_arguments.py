"""What a kernel must not read is refused with an exception that names the place; nothing is read out of bounds."""

from dataclasses import replace

import numpy as np
import pytest

from softcount.kernels import WordIndex

INDPTR, INDICES = np.array([0, 2, 3], np.int32), np.array([0, 3, 1], np.int32)


def csr_calls(kernels, indptr, indices, data=None):
    """Every function that takes a sparse chunk with two rows and four columns."""
    codes = np.zeros(2, np.int32)
    return {
        "scores": lambda: kernels.csr_scores(indptr, indices, data, np.zeros((4, 2)), np.zeros((2, 2))),
        "accumulate": lambda: kernels.csr_accumulate(indptr, indices, data, np.zeros((2, 2)), np.zeros((4, 2))),
        "class_counts": lambda: kernels.csr_class_counts(indptr, indices, data, codes, None, np.zeros((2, 4))),
        "word_index": lambda: kernels.csr_word_index(indptr, indices, data, 4),
        "repeats": lambda: kernels.csr_repeats(indptr, indices, 4),
    }


WITH_VALUES = ["scores", "accumulate", "class_counts", "word_index"]
CSR = [*WITH_VALUES, "repeats"]


@pytest.mark.parametrize("name", CSR)
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("column", [4, -1, 2**31 - 1])
def test_a_column_out_of_range_is_named(kernels, name, dtype, column):
    indices = np.array([0, 3, column], dtype)
    with pytest.raises(IndexError, match=rf"indices\[2\] is {column}, expected 0 <= index < 4 columns"):
        csr_calls(kernels, INDPTR, indices)[name]()


@pytest.mark.parametrize("name", CSR)
def test_columns_outside_the_chunk_are_not_looked_at(kernels, name):
    csr_calls(kernels, np.array([1, 2, 3]), np.array([99, 3, 1, -5]))[name]()


@pytest.mark.parametrize("name", CSR)
@pytest.mark.parametrize(
    ("indptr", "message"),
    [
        ([0, 2, 4], "there are 3 indices"),
        ([-1, 2, 3], "there are 3 indices"),
        ([0, 3, 2], "indptr decreases after row 1"),
        ([3, 0, 3], "indptr decreases after row 0"),
    ],
)
def test_row_starts_that_make_no_sense_are_named(kernels, name, indptr, message):
    with pytest.raises(ValueError, match=message):
        csr_calls(kernels, np.array(indptr), INDICES)[name]()


@pytest.mark.parametrize("name", WITH_VALUES)
def test_values_of_another_length_than_the_columns_are_refused(kernels, name):
    with pytest.raises(ValueError, match="data"):
        csr_calls(kernels, INDPTR, INDICES, np.ones(2))[name]()


def test_a_chunk_of_more_rows_than_sixteen_bits_number_has_no_word_index(kernels):
    with pytest.raises(ValueError, match="65537 rows, expected at most 65536"):
        kernels.csr_word_index(np.zeros(65538, np.int32), INDICES, None, 4)


@pytest.mark.parametrize(
    ("dtype", "code"), [(np.int8, 3), (np.int16, -2), (np.int32, 3), (np.int64, 2**40), (np.uint8, 3)]
)
def test_a_level_out_of_range_is_named(kernels, dtype, code):
    codes, offsets = np.zeros((60, 7), dtype), np.arange(8) * 3
    codes[57, 4] = code
    for call in (
        lambda: kernels.codes_scores(codes, offsets, np.zeros((21, 2)), np.zeros((60, 2))),
        lambda: kernels.codes_accumulate(codes, offsets, np.zeros((60, 2)), np.zeros((21, 2))),
        lambda: kernels.codes_class_counts(codes, offsets, np.zeros(60, np.int32), None, np.zeros((21, 2))),
        lambda: kernels.codes_pass(codes, offsets, np.zeros((21, 2)), np.zeros(2), None, *pass_outputs(21, 2, 1)),
    ):
        with pytest.raises(IndexError, match=rf"codes\[57, 4\] is {code}, expected a level 0 <= code < 3 or missing"):
            call()


@pytest.mark.parametrize("offsets", [[0, 3, 2], [1, 2, 3], [0, 2]])
def test_offsets_that_make_no_sense_are_refused(kernels, offsets):
    with pytest.raises(ValueError, match="offsets"):
        kernels.codes_scores(np.zeros((1, 2), np.int32), np.array(offsets), np.zeros((3, 1)), np.zeros((1, 1)))


def pass_outputs(n_levels, n_columns, n_runs):
    return np.zeros((n_levels, n_columns)), np.zeros(n_columns), np.zeros(n_runs)


@pytest.mark.parametrize(("n_columns", "n_runs"), [(5, 2), (4, 0), (0, 1)])
def test_runs_of_a_pass_have_equally_many_classes(kernels, n_columns, n_runs):
    codes, offsets = np.zeros((3, 1), np.int8), np.array([0, 2])
    with pytest.raises(ValueError, match=f"{n_columns} columns are no whole number of classes for {n_runs} runs"):
        kernels.codes_pass(
            codes, offsets, np.zeros((2, n_columns)), np.zeros(n_columns), None, *pass_outputs(2, n_columns, n_runs)
        )


def class_calls(kernels, class_codes, weight):
    """Every function that takes the classes of three rows with one column, two classes being expected."""
    X, out = np.zeros((3, 1)), lambda: np.zeros((1, 2))
    return [
        lambda: kernels.csr_class_counts(np.zeros(4, np.int32), INDICES, None, class_codes, weight, out().T.copy()),
        lambda: kernels.codes_class_counts(X.astype(np.int32), np.array([0, 1]), class_codes, weight, out()),
        lambda: kernels.dense_class_counts(X, class_codes, weight, out()),
        lambda: kernels.gaussian_class_moments(X, class_codes, weight, out(), out(), out(), out()),
    ]


@pytest.mark.parametrize("code", [2, -2])
def test_a_class_out_of_range_is_named(kernels, code):
    for call in class_calls(kernels, np.array([0, -1, code], np.int32), None):
        with pytest.raises(IndexError, match=rf"class_codes\[2\] is {code}, expected -1 \(skip\)"):
            call()


def test_as_many_classes_and_weights_as_rows_are_expected(kernels):
    for call in class_calls(kernels, np.zeros(2, np.int32), None):
        with pytest.raises(ValueError, match="class_codes"):
            call()
    for call in class_calls(kernels, np.zeros(3, np.int32), np.ones(4)):
        with pytest.raises(ValueError, match="weight"):
            call()


SHAPES = {
    "csr_scores": [(INDPTR, INDICES, None, (4, 2), (2, 3)), (INDPTR, INDICES, None, (4, 2), (3, 2))],
    "csr_accumulate": [(INDPTR, INDICES, None, (3, 2), (4, 2)), (INDPTR, INDICES, None, (2, 2), (4, 3))],
    "dense_scores": [((2, 4), (3, 2), (2, 2)), ((2, 4), (4, 2), (2, 1)), ((2, 4), (4, 2), (1, 2))],
    "dense_accumulate": [((2, 4), (1, 2), (4, 2)), ((2, 4), (2, 2), (3, 2)), ((2, 4), (2, 2), (4, 1))],
    "gaussian_scores": [
        ((2, 4), (3, 2), (3, 2), (2, 2)),
        ((2, 4), (4, 2), (4, 1), (2, 2)),
        ((2, 4), (4, 2), (4, 2), (3, 2)),
    ],
    "gaussian_moments": [
        ((2, 4), (3, 2), (4, 2), (4, 2), (4, 2), (4, 2)),
        ((2, 4), (2, 2), (4, 2), (4, 2), (4, 2), (4, 3)),
        ((2, 4), (2, 2), (3, 2), (4, 2), (4, 2), (4, 2)),
    ],
    "gaussian_full_scores": [((2, 4), (3, 3), (3, 4, 4), (3,), (2, 3)), ((2, 4), (3, 4), (3, 4, 3), (3,), (2, 3))],
    "gaussian_full_moments": [
        ((2, 4), (2, 3), (3, 4), (3,), (3, 4), (3, 4, 3)),
        ((2, 4), (2, 3), (3, 4), (2,), (3, 4), (3, 4, 4)),
    ],
    "normalize_rows": [((2, 3), (3,), (3,), (2,)), ((2, 3), (2,), (2,), (2,)), ((2, 3), (2,), (3,), (3,))],
}


@pytest.mark.parametrize(("name", "shapes"), [(name, shapes) for name in SHAPES for shapes in SHAPES[name]])
def test_shapes_that_do_not_fit_together_are_refused(kernels, name, shapes):
    arrays = [np.zeros(shape) if isinstance(shape, tuple) else shape for shape in shapes]
    with pytest.raises(ValueError, match="shape"):
        getattr(kernels, name)(*arrays)


def outputs(n):
    """An output that cannot be used, and why."""
    frozen = np.zeros((n, 2))
    frozen.flags.writeable = False
    return {
        "float32": (np.zeros((n, 2), np.float32), TypeError),
        "frozen": (frozen, ValueError),
        "column by column": (np.zeros((n, 2), order="F"), ValueError),
    }


@pytest.mark.parametrize("kind", ["float32", "frozen", "column by column"])
def test_an_output_that_cannot_be_added_to_is_refused(kernels, kind):
    X, table, scores = np.ones((3, 3)), np.ones((3, 2)), np.ones((3, 2))
    out, error = outputs(3)[kind]
    indptr, indices = np.arange(4), np.arange(3)
    for call in (
        lambda: kernels.csr_scores(indptr, indices, None, table, out),
        lambda: kernels.csr_accumulate(indptr, indices, None, scores, out),
        lambda: kernels.dense_scores(X, table, out),
        lambda: kernels.dense_accumulate(X, scores, out),
        lambda: kernels.gaussian_scores(X, table, table, out),
        lambda: kernels.gaussian_moments(X, scores, table, out, np.zeros((3, 2)), np.zeros((3, 2))),
        lambda: kernels.normalize_rows(out, None, np.zeros(2), None),
    ):
        with pytest.raises(error):
            call()


def test_no_classes_have_no_responsibilities(kernels):
    with pytest.raises(ValueError, match="no classes"):
        kernels.normalize_rows(np.zeros((2, 0)), None, np.zeros(0), None)


def test_an_index_for_other_rows_or_columns_is_refused(kernels):
    index = kernels.csr_word_index(np.array([0, 1, 2]), np.array([0, 5]), None, 6)
    for resp, out in (((1, 2), (6, 2)), ((2, 2), (5, 2)), ((2, 2), (6, 3))):
        with pytest.raises((ValueError, IndexError)):
            kernels.csr_accumulate_words(index, np.zeros(resp), np.zeros(out))


def test_an_index_that_is_no_index_is_refused(kernels):
    if kernels.__name__.endswith("fallback"):
        pytest.skip("NumPy reads nothing out of bounds, whatever the index")
    words, starts, rows = np.array([0, 5], np.int32), np.array([0, 1, 2], np.int32), np.array([0, 1], np.uint16)
    resp = np.ones((2, 2))
    sound = WordIndex(words, starts, rows, None, n_rows=2, n_features=6)
    kernels.csr_accumulate_words(sound, resp, np.zeros((6, 2)))
    for wrong in (
        replace(sound, words=np.array([-1, 5], np.int32)),
        replace(sound, starts=np.array([1, 1, 2], np.int32)),
        replace(sound, starts=np.array([0, 3, 2], np.int32)),
        replace(sound, starts=np.array([0, 1, 1], np.int32)),
        replace(sound, starts=np.array([0, 1, 3], np.int32)),
    ):
        with pytest.raises((ValueError, IndexError)):
            kernels.csr_accumulate_words(wrong, resp, np.zeros((6, 2)))
