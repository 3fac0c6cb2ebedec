"""Write docs/reference/names.md: every public name in a line, from its docstring.

Run it as ``python tools/write_reference.py``; with ``--check`` it writes nothing and exits with 1 if the page is stale.
"""

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "names.md"

HEAD = """# Every public name

`help(softcount.NAME)` has the parameters, the equation and an example of each. This page is written from the docstrings
by `python tools/write_reference.py`; the suite fails when it is out of date.
"""

#: Methods that every estimator has from scikit-learn and that need no mention.
ORDINARY = {"get_params", "set_params", "get_metadata_routing"}


def first_sentence(thing: Any) -> str:
    """Return the summary of a docstring, in one line of Markdown."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n", 1)[0].split())
    return re.sub(r":math:`([^`]*)`", r"$\1$", text).replace("``", "`")


def methods(estimator: type) -> str:
    """Return the names of an estimator's own public methods, as code."""
    names = [
        name
        for name, value in inspect.getmembers(estimator)
        if callable(value) and not name.startswith(("_", "set_")) and name not in ORDINARY
    ]
    return ", ".join(f"`{name}`" for name in names)


def estimator_rows(package: ModuleType) -> list[str]:
    """Return a section for each estimator."""
    lines = ["", "## Estimators"]
    for name in sorted(package.ESTIMATORS, key=str.lower):
        estimator = getattr(package, name)
        lines += ["", f"### `{name}`", "", first_sentence(estimator), "", f"Methods: {methods(estimator)}."]
    return lines


def is_defined(module: ModuleType, name: str) -> bool:
    """Return whether a name is a class or function, not an alias of a type or a table."""
    return inspect.isclass(getattr(module, name)) or inspect.isfunction(getattr(module, name))


def table(title: str, owner: Any, names: list[str], prefix: str) -> list[str]:
    """Return a table of names and summaries."""
    lines = ["", f"## {title}", "", "| name | what it is |", "|---|---|"]
    for name in sorted(names, key=str.lower):
        summary = first_sentence(getattr(owner, name)).replace("|", "\\|")
        lines.append(f"| `{prefix}{name}` | {summary} |")
    return lines


def page() -> str:
    """Return the whole page."""
    import softcount

    functions = [name for name in softcount._NAMES if name not in softcount.ESTIMATORS]
    lines = [HEAD.rstrip(), *estimator_rows(softcount), *table("Functions", softcount, functions, "softcount.")]
    for title, module in (
        ("How many classes", softcount.select),
        ("Exponential families", softcount.families),
        ("Priors", softcount.priors),
    ):
        prefix = "softcount." + next(spelled for spelled, path in softcount._MODULES.items() if path == module.__name__)
        public = [name for name in module.__all__ if is_defined(module, name)]
        lines += table(title, module, public, prefix + ".")
    return "\n".join(lines) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check the page; return the exit status."""
    text = page()
    if "--check" in arguments:
        if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{PAGE.name} is out of date: run python tools/write_reference.py", file=sys.stderr)
        return 1
    PAGE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
