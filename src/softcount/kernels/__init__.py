"""Fast counting over one chunk of rows; this file chooses between the compiled kernels and NumPy.

The environment variable ``SOFTCOUNT_KERNELS`` says which: ``auto`` (default: compiled if present),
``native`` or ``numpy``. All kernels are single-threaded, release the GIL, take plain arrays, and *add* to
outputs that the caller allocated. The class axis is always last. After an exception the outputs are
unspecified.
"""

import functools
import os
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import ParamSpec, TypeVar

from softcount._errors import KernelFallbackWarning
from softcount.kernels.number_range import NumberRange
from softcount.kernels.word_index import INDEXED_CHUNK_ROWS, MAX_CHUNK_ROWS, WordIndex, word_index_pays

__all__ = [
    "INDEXED_CHUNK_ROWS",
    "MAX_CHUNK_ROWS",
    "NumberRange",
    "WordIndex",
    "backend",
    "codes_accumulate",
    "codes_class_counts",
    "codes_pass",
    "codes_scores",
    "csr_accumulate",
    "csr_accumulate_words",
    "csr_class_counts",
    "csr_repeats",
    "csr_scores",
    "csr_word_index",
    "dense_accumulate",
    "dense_class_counts",
    "dense_scores",
    "gaussian_class_moments",
    "gaussian_full_moments",
    "gaussian_full_scores",
    "gaussian_moments",
    "gaussian_scores",
    "learn_words",
    "logistic_score",
    "normalize_rows",
    "number_range",
    "split_lines",
    "word_counter",
    "word_index_pays",
]


def _choose() -> tuple[str, bool]:
    """Return the backend's name, and whether it stands in for a missing extension."""
    wanted = os.environ.get("SOFTCOUNT_KERNELS", "auto")
    if wanted not in ("auto", "native", "numpy"):
        raise ValueError(f"SOFTCOUNT_KERNELS is {wanted!r}, expected 'auto', 'native' or 'numpy'.")
    present = find_spec("softcount.kernels._native") is not None
    if wanted == "native" and not present:
        raise ImportError(
            "SOFTCOUNT_KERNELS is 'native', but the compiled kernels are not installed. "
            "Install softcount where a C compiler is available, or unset the variable."
        )
    if wanted == "numpy" or not present:
        return "numpy", wanted == "auto"
    return "native", False


_P = ParamSpec("_P")
_R = TypeVar("_R")

_backend_name, _is_stand_in = _choose()


def backend() -> str:
    """Return the name of the kernels in use: ``"native"`` or ``"numpy"``."""
    return _backend_name


if _backend_name == "native":
    from softcount.kernels.native import (
        codes_accumulate,
        codes_class_counts,
        codes_pass,
        codes_scores,
        csr_accumulate,
        csr_accumulate_words,
        csr_class_counts,
        csr_repeats,
        csr_scores,
        csr_word_index,
        dense_accumulate,
        dense_class_counts,
        dense_scores,
        gaussian_class_moments,
        gaussian_full_moments,
        gaussian_full_scores,
        gaussian_moments,
        gaussian_scores,
        logistic_score,
        normalize_rows,
        number_range,
    )
    from softcount.kernels.native_text import learn_words, split_lines, word_counter
else:
    from softcount.kernels.fallback import (
        codes_accumulate,
        codes_class_counts,
        codes_pass,
        codes_scores,
        csr_accumulate,
        csr_accumulate_words,
        csr_class_counts,
        csr_repeats,
        csr_scores,
        csr_word_index,
        dense_accumulate,
        dense_class_counts,
        dense_scores,
        gaussian_class_moments,
        gaussian_full_moments,
        gaussian_full_scores,
        gaussian_moments,
        gaussian_scores,
        logistic_score,
        normalize_rows,
        number_range,
    )
    from softcount.kernels.fallback.lines import split_lines
    from softcount.kernels.fallback.text import learn_words, word_counter

    _to_announce = ["the missing extension"]

    def _announcing(kernel: Callable[_P, _R]) -> Callable[_P, _R]:
        """Let a kernel say once per process, when it is first used, that it is the slow one."""

        @functools.wraps(kernel)
        def announced(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            if _to_announce:
                _to_announce.clear()
                warnings.warn(
                    "softcount's compiled kernels are not installed, so NumPy and SciPy do their work: the "
                    "same answers, several times slower. Reinstall softcount where there is a C compiler, "
                    "or set SOFTCOUNT_KERNELS=numpy to choose this silently.",
                    KernelFallbackWarning,
                    stacklevel=2,
                )
            return kernel(*args, **kwargs)

        return announced

    if _is_stand_in:
        for _name in __all__:
            if _name.islower() and _name not in ("backend", "split_lines", "word_index_pays"):
                globals()[_name] = _announcing(globals()[_name])
