"""Libraries that nobody touches are not imported, and serve as ever once somebody does."""

import subprocess
import sys
from pathlib import Path

from softcount.cli.late_imports import import_late


def told_by(code: str, folder: Path) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True)
    return done.stdout.splitlines()[-1]


def test_training_prediction_and_a_report_need_neither_statistics_nor_pandas(tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[i % 2]},{'win a free prize' if i % 2 else 'lunch at noon then'} {i}\n" for i in range(40))
    (tmp_path / "t.csv").write_text("label,text\n" + rows)
    code = (
        "import sys; from softcount.cli.program import run; "
        "assert run(['train', 't.csv', '-q']) == 0 and run(['predict', 't.softcount', 't.csv', '-o', 'o.csv']) == 0; "
        "print(sorted({'scipy.stats._stats_py', 'scipy.special._ufuncs', 'narwhals.dataframe', 'numpy.f2py.f2py2e', "
        "'numpy.testing._private', 'asyncio.events', 'pandas.core'} & set(sys.modules)))"
    )
    assert told_by(code, tmp_path) == "[]"
    assert (tmp_path / "t.report.html").exists()


def test_what_stands_in_for_a_module_becomes_the_module_when_it_is_used(tmp_path: Path) -> None:
    code = (
        "import sys; from softcount.cli.late_imports import import_late; import_late('scipy.stats', 'pandas'); "
        "import pandas as pd; import scipy.stats; before = 'pandas.core' in sys.modules; "
        "from scipy.stats import norm; frame = pd.DataFrame({'a': [1, 2]}); import pandas; "
        "print(before, norm.cdf(0.0), frame.shape, pandas.DataFrame is pd.DataFrame, scipy.stats.norm is norm, "
        "type(sys.modules['pandas']).__name__)"
    )
    assert told_by(code, tmp_path) == "False 0.5 (2, 1) True True module"


def test_threads_that_ask_for_the_same_module_at_once_all_get_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time\ntime.sleep(0.2)\nruns = globals().get('runs', 0) + 1\n")
    code = (
        "import threading; from softcount.cli.late_imports import import_late; import_late('slow'); import slow; "
        "found = []; ask = lambda: found.append(slow.runs); "
        "threads = [threading.Thread(target=ask) for _ in range(4)]; "
        "[t.start() for t in threads]; [t.join() for t in threads]; print(found)"
    )
    assert told_by(code, tmp_path) == "[1, 1, 1, 1]"


def test_a_module_that_fails_does_so_each_time_it_is_asked_and_one_that_lacks_something_says_so(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("raise ValueError('broken as ever')\n")
    (tmp_path / "whole.py").write_text("here = 1\n")
    code = """
from softcount.cli.late_imports import import_late
import_late("broken", "whole")
import broken, whole
told = []
for module in (broken, broken, whole):
    try:
        module.not_there
    except (ValueError, AttributeError) as error:
        told.append(str(error))
print(told, whole.here)
"""
    expected = "['broken as ever', 'broken as ever', \"module 'whole' has no attribute 'not_there'\"] 1"
    assert told_by(code, tmp_path) == expected


def test_modules_that_are_loaded_or_not_installed_are_left_alone() -> None:
    import json

    import_late("json", "no_such_library", "no_such_library.part", "json.no_such_part")
    assert sys.modules["json"] is json
    assert not {"no_such_library", "no_such_library.part", "json.no_such_part"} & set(sys.modules)
