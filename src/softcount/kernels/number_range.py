"""What is to be known of all numbers of a table before it is used."""

from typing import NamedTuple


class NumberRange(NamedTuple):
    """What numbers lie between.

    Attributes
    ----------
    least, greatest : float
        Of those that are not NaN; infinite the wrong way round where there are none.
    total : float
        Sum of those that are not NaN.
    has_missing : bool
        Whether any is NaN.
    """

    least: float
    greatest: float
    total: float
    has_missing: bool
