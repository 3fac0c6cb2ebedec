"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

__all__ = ["data_options", "output_options", "with_options"]

#: The formats of softcount.cli.readers, written out so that --help does not import NumPy.
FORMATS = ("csv", "jsonl", "parquet", "texts", "mbox", "maildir")

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
