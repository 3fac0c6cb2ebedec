import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from softcount import _errors


def test_an_input_error_is_both_a_value_error_and_ours():
    with pytest.raises(ValueError, match="row 3"):
        raise _errors.InputError("X has a negative count in row 3")
    assert issubclass(_errors.InputError, _errors.SoftcountError)


def test_the_convergence_warning_is_the_one_scikit_learn_users_filter():
    assert _errors.ConvergenceWarning is ConvergenceWarning


def test_the_fallback_warning_is_one_that_python_shows_by_default():
    with pytest.warns(UserWarning, match="absent") as caught:
        warnings.warn("compiled kernels are absent", _errors.KernelFallbackWarning, stacklevel=1)
    assert not issubclass(caught[0].category, DeprecationWarning | ImportWarning | ResourceWarning)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'NoSuchError'"):
        _ = _errors.NoSuchError
