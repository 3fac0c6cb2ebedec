"""Where a report goes, and writing it there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from softcount.cli.options import Decorator
from softcount.cli.outcomes import CommandError, UsageError

if TYPE_CHECKING:
    from softcount.report.data import Report

__all__ = ["MISSING_ENGINE", "check_report", "command_typed", "report_option", "write_report"]

#: Formats of a report by the ending of its name.
ENDINGS = {".html": "html", ".htm": "html", ".json": "json", ".txt": "text"}
MISSING_ENGINE = "an HTML report needs Jinja2: pip install 'softcount[report]'."


def report_option(default: str) -> Decorator:
    """The option ``--report``; its help ends with what happens without it."""
    return click.option(
        "--report", metavar="FILE", help=f"Write a report; the name ends in .html, .json or .txt. [default: {default}]"
    )


def check_report(path: str, others: Sequence[str]) -> None:
    """Refuse a report that could not be written, before any work is done.

    Parameters
    ----------
    path : str
        Where it is to go.
    others : sequence of str
        Files it must not replace.
    """
    from softcount.cli.export import check_place
    from softcount.report.as_html import can_render_html

    ending = Path(path).suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"{path}: the name of a report ends in .html, .json or .txt.")
    check_place(path, others)
    if ENDINGS[ending] == "html" and not can_render_html():
        raise CommandError(f"{path}: {MISSING_ENGINE}")


def write_report(report: Report, path: str) -> None:
    """Write a report in the format that the name tells.

    Parameters
    ----------
    report : Report
    path : str
        An existing file is replaced, and only by a whole one.
    """
    from softcount.cli.export import atomic_output
    from softcount.report.as_html import render_html
    from softcount.report.as_json import render_json
    from softcount.report.as_text import render_text

    render = {"html": render_html, "json": render_json, "text": render_text}[ENDINGS[Path(path).suffix.lower()]]
    content = render(report).encode("utf-8", "replace")
    with atomic_output(path) as file:
        file.write(content)


def command_typed(context: click.Context) -> str:
    """The command as it was typed."""
    from softcount.cli.wording import command_line

    arguments = context.obj if isinstance(context.obj, list) else []
    return command_line("softcount", *arguments)
