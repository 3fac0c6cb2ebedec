"""Options that several commands share."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from softcount.cli.outcomes import UsageError

if TYPE_CHECKING:
    from softcount.cli.readers import Source

__all__ = [
    "FORMATS",
    "GLM_FAMILIES",
    "GLM_LINKS",
    "Decorator",
    "checkpoint_options",
    "checkpointed",
    "dask_option",
    "data_options",
    "match_columns",
    "opener",
    "output_options",
    "read_roles",
    "role_options",
    "with_options",
]

#: The formats of softcount.cli.readers, written out so that --help does not import NumPy.
FORMATS = ("csv", "jsonl", "parquet", "texts", "mbox", "maildir")

#: The families of softcount.GLM, for the same reason.
GLM_FAMILIES = (
    "gaussian",
    "binomial",
    "poisson",
    "gamma",
    "inverse_gaussian",
    "negative_binomial",
    "tweedie",
    "quasibinomial",
    "quasipoisson",
)
GLM_LINKS = ("identity", "log", "logit", "probit", "cloglog", "loglog", "cauchit", "inverse", "inverse_squared", "sqrt")

Decorator = Callable[[Any], Any]


def with_options(*options: Decorator) -> Decorator:
    """Options in the order in which help lists them."""

    def decorate(function: Any) -> Any:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


data_options = with_options(
    click.option("--format", "kind", type=click.Choice(FORMATS), help="What DATA is. [default: told from its name]"),
    click.option("--delimiter", help=r"What separates cells of a CSV file; \t for a tab. [default: found out]"),
    click.option("--encoding", help="Encoding of a CSV file. [default: UTF-8, or as its byte order mark says]"),
)

output_options = with_options(
    click.option("--json", "as_json", is_flag=True, help="Answer with one JSON document on standard output."),
    click.option("-q", "--quiet", is_flag=True, help="Say nothing but errors on standard error."),
)

checkpoint_options = with_options(
    click.option("--checkpoint", metavar="DIR", help="Write there what the fit has come to, every 30 seconds."),
    click.option("--resume", is_flag=True, help="Go on with the fit whose checkpoints are in DIR, to the same bits."),
)

dask_option = click.option(
    "--dask", metavar="ADDRESS", help="Let the Dask cluster there read and count; local makes one here."
)

role_options = with_options(
    click.option(
        "--role",
        "roles",
        metavar="COLUMN=ROLE",
        multiple=True,
        help="Decide what a column is: text, category, number, count, date, id or ignore. Repeatable; COLUMN may hold "
        "*, so that '*=category' decides about all columns.",
    ),
    click.option(
        "--ignore", "ignored", metavar="COLUMN", multiple=True, help="Leave a column out. Repeatable; may hold *."
    ),
)


def opener(options: dict[str, Any]) -> Callable[[str], Source]:
    r"""Opens a path as ``data_options`` say; ``\t`` and "tab" are a tab.

    Parameters
    ----------
    options : dict
        With ``kind``, ``delimiter`` and ``encoding``.
    """
    from softcount.cli.readers import open_source

    delimiter = "\t" if options["delimiter"] in ("\\t", "tab") else options["delimiter"]
    return partial(open_source, kind=options["kind"], delimiter=delimiter, encoding=options["encoding"])


def checkpointed(options: dict[str, Any]) -> AbstractContextManager[None]:
    """The checkpoints that ``--checkpoint`` and ``--resume`` ask for; without them nothing is written.

    Parameters
    ----------
    options : dict
        With ``checkpoint`` and ``resume``.
    """
    if options["checkpoint"] is None:
        if options["resume"]:
            raise UsageError("--resume goes on with the checkpoints of --checkpoint DIR; give that as well.")
        return nullcontext()
    from softcount.persist.checkpoints import checkpoints

    return checkpoints(options["checkpoint"], resume=options["resume"])


def read_roles(options: dict[str, Any]) -> dict[str, str]:
    """The roles that ``--role`` and ``--ignore`` give to columns.

    Parameters
    ----------
    options : dict
        With ``roles`` and ``ignored``.
    """
    from softcount.inputs.roles import ROLES

    columns: dict[str, str] = {}
    for text in options["roles"]:
        name, mark, role = text.rpartition("=")
        if not mark or role not in ROLES:
            raise UsageError(f"--role {text!r}: write COLUMN=ROLE, where ROLE is one of {', '.join(ROLES)}.")
        columns[name] = role
    # What is to be left out is left out, whatever a pattern says of it.
    return {**columns, **dict.fromkeys(options["ignored"], "ignore")}


def match_columns(asked: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    """Roles by column, where a name with ``*`` in it stands for all columns it fits; a full name goes first.

    Parameters
    ----------
    asked : mapping of str to str
    names : collection of str
        The columns there are.

    Examples
    --------
    >>> match_columns({"q*": "category", "q2": "text"}, ["age", "q1", "q2"])
    {'q1': 'category', 'q2': 'text'}
    """
    found: dict[str, str] = {}
    for name, role in asked.items():
        fitting = [] if name in names or "*" not in name else [column for column in names if _fits(column, name)]
        found.update(dict.fromkeys(fitting or [name], role))
    # Full names once more: a pattern that came later does not undo them.
    return {**found, **{name: role for name, role in asked.items() if name in names}}


def _fits(column: str, pattern: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), column, re.DOTALL) is not None
