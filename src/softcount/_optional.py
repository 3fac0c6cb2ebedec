"""Libraries outside the core install: they are looked for when they are needed, and asked for by name."""

from importlib.util import find_spec

from softcount._errors import SoftcountError

__all__ = ["MissingLibraryError", "need"]


class MissingLibraryError(SoftcountError, ImportError):
    """Something was asked for that takes a library which is not installed."""


def need(library: str, what: str, install: str | None = None) -> None:
    """Refuse clearly where a library is absent.

    Parameters
    ----------
    library : str
        Its name for ``import``.
    what : str
        What it is needed for, as the start of a sentence.
    install : str, optional
        What ``pip install`` takes; by default the library's name.
    """
    if find_spec(library) is None:
        raise MissingLibraryError(f"{what} needs {library}, which is not installed: pip install {install or library}.")
