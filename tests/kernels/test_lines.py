"""Lines are cut into the same cells by both backends, or left to those who look closer."""

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from softcount.kernels.fallback.lines import split_lines
from tests.kernels.conftest import native_extension

SIGNS = st.sampled_from(
    [b",", b",", b"\n", b"\n", b"\r\n", b"\r", b'"', b"\0", b"ab", "é😀".encode(), b"\xff", b"\xc3"]
)


@pytest.fixture(scope="module", params=["fallback.lines", "native_text"])
def split(request):
    """The function of one backend."""
    if request.param == "native_text":
        native_extension()
    return import_module(f"softcount.kernels.{request.param}").split_lines


@given(signs=st.lists(SIGNS, max_size=25), n_columns=st.integers(1, 3))
def test_compiled_lines_are_those_of_the_fallback(signs, n_columns):
    native_extension()
    native = import_module("softcount.kernels.native_text").split_lines
    text = b"".join(signs)
    assert native(text, ",", n_columns) == split_lines(text, ",", n_columns)


def test_cells_stand_between_delimiters_and_line_feeds(split):
    assert split(b"a,b\nc d,\r\n,e", ",", 2) == [["a", "c d", ""], ["b", "", "e"]]
    assert split("é\n\nß\n".encode(), ",", 1) == [["é", "", "ß"]]
    assert split("a¦b\n".encode(), "¦", 2) == [["a"], ["b"]]
    assert split(b"", ",", 2) == [[], []]


@pytest.mark.parametrize(
    "text", [b"a\n", b"a,b,c\n", b"a,b\n\n", b'"a",b\n', b"a,b\0\n", b"a,\rb\n", b"a,b\r", b"a,b\r\r\n", b"a,\xe9\n"]
)
def test_what_takes_more_than_a_look_for_delimiters_is_left_alone(split, text):
    assert split(b"x,y\n", ",", 2) == [["x"], ["y"]]
    assert split(text, ",", 2) is None


def test_words_are_sorted_by_all_of_their_letters():
    native_extension()
    learn = import_module("softcount.kernels.native_text").learn_words
    stems = ["prefixes", "prefixed", "préfixes", "ab", "zz"]
    words = sorted({stem + end for stem in stems for end in ("", "a", "ab", "b", "é", "zzzzzzzzz")})
    rng = np.random.default_rng(0)
    assert learn([" ".join(rng.permutation(words)), "zz"], 2)[0] == words


def test_arguments_that_do_not_fit_are_refused_by_the_compiled_functions():
    native = native_extension()
    with pytest.raises(TypeError, match="texts must be a list"):
        native.text_lengths(("a",), np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="expected 1"):
        native.text_lengths(["a"], np.zeros(2, np.int64))
    with pytest.raises(IndexError, match="2 texts from 1 on, of 2"):
        native.join_ascii(["a", "b"], 1, np.ones(2, np.int64))
    with pytest.raises(ValueError, match="lengths\\[0\\] is -1"):
        native.join_ascii(["a"], 0, np.array([-1], np.int64))
    with pytest.raises(ValueError, match="delimiter is 200"):
        native.split_lines(b"a", 200, 1)
    with pytest.raises(ValueError, match="expected 0"):
        native.sorted_words(native.new_vocabulary(1), np.zeros(1, np.int32))
    # A text that is no ASCII, or not as long as was said, is left to those who look closer.
    assert native.join_ascii(["a", "é"], 0, np.array([1, 1], np.int64)) is None
    assert native.join_ascii(["a", "bc"], 0, np.array([1, 1], np.int64)) is None
    assert native.join_ascii(["a", "\ud800"], 0, np.array([1, 1], np.int64)) is None
