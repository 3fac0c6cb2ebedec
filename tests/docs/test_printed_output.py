"""What the pages show as printed is what is printed: outputs of Python blocks, and transcripts of the command line."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from softcount.cli.program import run as softcount
from tests.docs.test_pages import FENCE, PAGES, named

#: A line of nothing but this stands for any lines that a page leaves out.
LEFT_OUT = "…"


def shown_outputs(text):
    """Pairs of all the Python of a page up to a block marked ``output``, and what that block shows."""
    code = ""
    for match in FENCE.finditer(text):
        if match["language"] == "python":
            code, last = code + match["code"], match["code"]
        elif match["language"] == "output":
            yield code.removesuffix(last), last, match["code"]


def transcripts(text):
    """Command lines after ``$`` and what follows each, of the blocks that begin with one."""
    for match in FENCE.finditer(text):
        if match["code"].startswith("$ softcount"):
            for part in re.split(r"^\$ ", match["code"], flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                yield command, output


def words(text):
    """The words of a text, for pages may break lines where a terminal would not."""
    return text.split()


def agrees(shown, printed):
    """Whether a shown output is the printed one, but for what it says it leaves out."""
    pieces = re.split(rf"^{LEFT_OUT}\n?", shown, flags=re.MULTILINE)
    pattern = r"(?:\s.*)?".join(r"\s+".join(map(re.escape, words(piece))) for piece in pieces)
    return re.fullmatch(pattern, " ".join(words(printed)), flags=re.DOTALL) is not None


WITH_OUTPUT = [page for page in PAGES if any(shown_outputs(page.read_text(encoding="utf-8")))]
WITH_TRANSCRIPT = [page for page in PAGES if any(transcripts(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", WITH_OUTPUT, ids=named)
def test_a_page_shows_what_its_python_prints(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for before, block, shown in shown_outputs(page.read_text(encoding="utf-8")):
        names, printed = {"__name__": f"page {page.name}"}, io.StringIO()
        with contextlib.redirect_stdout(io.StringIO()):
            exec(before, names)  # the pages are part of the repository
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        assert agrees(shown, printed.getvalue()), printed.getvalue()


@pytest.mark.parametrize("page", WITH_TRANSCRIPT, ids=named)
def test_a_page_shows_what_its_commands_print(page, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    assert softcount(["demo", "--folder", ".", "--quiet"]) == 0
    capfd.readouterr()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for command, shown in transcripts(page.read_text(encoding="utf-8")):
        done = subprocess.run(
            command,
            shell=True,  # the pages are part of the repository
            text=True,
            encoding="utf-8",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env={**os.environ, "PATH": path, "COLUMNS": "120", "OMP_NUM_THREADS": "1"},
            check=True,
            timeout=300,
        )
        assert agrees(shown, done.stdout), f"$ {command}\n{done.stdout}"


# ---- the comparison itself
def test_what_a_page_leaves_out_may_be_anything_and_nothing_else_may():
    assert agrees("a 1\n…\nz 9\n", "a 1\nb 2\nc 3\nz 9\n")
    assert agrees("a long\nline\n", "a long line\n")
    assert not agrees("a 1\nz 9\n", "a 1\nb 2\nz 9\n")
    assert not agrees("a 1\n…\nz 9\n", "a 1\nb 2\nz 8\n")
