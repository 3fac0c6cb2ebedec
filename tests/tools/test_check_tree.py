import ast

import pytest

from tools import check_tree


def write(root, where, text):
    path = root / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def function_of(n_lines, docstring=""):
    body = [f"    x{i} = {i}" for i in range(n_lines - 1)]
    return "\n".join(["def f():", *docstring.splitlines(), *body]) + "\n"


def test_a_clean_tree_has_no_violations(tmp_path):
    write(tmp_path, "src/softcount/counts.py", "import numpy\n" + function_of(80))
    assert check_tree.check_tree(tmp_path) == []


def test_violations_of_every_kind_are_found_in_one_walk(tmp_path):
    write(tmp_path, "src/softcount/utils.py", "import pandas\n" + function_of(81))
    write(tmp_path, "src/softcount/kernels/long.c", "\n" * 401)
    violations = check_tree.check_tree(tmp_path)
    assert [line.split(":")[0] for line in violations] == ["src/softcount/kernels/long.c"] + [
        "src/softcount/utils.py"
    ] * 3


@pytest.mark.parametrize(("n_lines", "n_violations"), [(400, 0), (401, 1)])
def test_a_file_may_have_four_hundred_lines_and_no_more(n_lines, n_violations):
    assert len(check_tree.check_file_length("src/a.py", "x = 1\n" * n_lines)) == n_violations


@pytest.mark.parametrize(("n_lines", "n_violations"), [(80, 0), (81, 1)])
def test_a_docstring_does_not_count_towards_the_length_of_a_function(n_lines, n_violations):
    docstring = '    """One.\n\n' + "    Two.\n" * 30 + '    """'
    module = ast.parse(function_of(n_lines, docstring))
    assert len(check_tree.check_function_lengths("src/a.py", module)) == n_violations


@pytest.mark.parametrize("where", ["src/utils.py", "src/_common.py", "tests/helpers.py", "src/kernels/util.h"])
def test_names_that_say_nothing_are_refused(where):
    assert len(check_tree.check_name(where)) == 1


@pytest.mark.parametrize("where", ["src/commonality.py", "src/counts.py"])
def test_names_that_say_something_are_accepted(where):
    assert check_tree.check_name(where) == []


@pytest.mark.parametrize(
    "text",
    [
        "import pandas as pd",
        "from polars import col",
        "try:\n    import pyarrow.parquet\nexcept ImportError:\n    pass",
        "class A:\n    import rich",
        "if not TYPE_CHECKING:\n    import click",
    ],
)
def test_a_heavy_import_that_runs_with_the_module_is_refused(text):
    assert len(check_tree.check_imports("src/softcount/inputs/columns.py", ast.parse(text))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "def read():\n    import pandas",
        "if TYPE_CHECKING:\n    import pandas",
        "import numpy",
        "from . import rich",
    ],
)
def test_an_import_that_runs_late_or_is_light_is_accepted(text):
    assert check_tree.check_imports("src/softcount/inputs/columns.py", ast.parse(text)) == []


def test_the_command_line_may_import_what_it_draws_with():
    module = ast.parse("import click")
    assert check_tree.check_imports("src/softcount/cli/main.py", module) == []
    assert len(check_tree.check_imports("src/softcount/client.py", module)) == 1
