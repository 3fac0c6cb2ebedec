"""The compiler has done what the sources count on: vectors in registers of the right width, and only there."""

import re
import shutil
import subprocess

import pytest

from tests.kernels.conftest import native_extension

AVX_NAMES = re.compile(r"%[yz]mm")


@pytest.fixture(scope="module")
def functions():
    """Disassembly of the extension: for each function name, the bodies that have it (one per level)."""
    native = native_extension()
    if "avx2" not in native.levels() or shutil.which("objdump") is None:
        pytest.skip("needs an x86 build with AVX2, and objdump")
    listing = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", native.__file__], capture_output=True, text=True, check=True
    ).stdout
    bodies = {}
    for name, body in re.findall(r"^[0-9a-f]+ <(\w+)(?:\.[\w.]+)?>:\n((?:.+\n)*)", listing, flags=re.MULTILINE):
        bodies.setdefault(name, []).append(body)
    if "csr_scores_block_5" not in bodies:
        pytest.skip("the extension was stripped of its symbols")
    return bodies


def by_level(bodies):
    """The AVX2 version of a function, and the others."""
    return [b for b in bodies if AVX_NAMES.search(b)], [b for b in bodies if not AVX_NAMES.search(b)]


@pytest.mark.parametrize(
    "name", ["csr_scores_block_5", "csr_accumulate_block_5", "words_block_5", "codes_scores_block_2", "softmax_panel"]
)
def test_only_one_level_uses_wide_registers(functions, name):
    wide, narrow = by_level(functions[name])
    assert len(wide) == 1
    assert len(narrow) == 2


@pytest.mark.parametrize("name", ["gaussian_scores", "full_scores", "full_moments", "logistic_score", "softmax_panel"])
def test_the_wide_level_multiplies_and_adds_in_one_instruction(functions, name):
    wide, narrow = by_level(functions[name])
    assert re.search(r"vfn?m(add|sub)\d+pd.*%ymm", wide[0])
    assert not any(re.search("vfn?m(add|sub)", body) for body in narrow)


def innermost_loop(body):
    """The instructions of the shortest backward jump that contains a packed addition."""
    lines = [(int(a, 16), text) for a, text in re.findall(r"^\s*([0-9a-f]+):\s+(.*)$", body, flags=re.MULTILINE)]
    loops = []
    for address, text in lines:
        jump = re.match(r"j\w+\s+([0-9a-f]+) ", text)
        if jump and int(jump[1], 16) < address:
            inside = [t for a, t in lines if int(jump[1], 16) <= a <= address]
            if any("addpd" in t for t in inside):
                loops.append(inside)
    return min(loops, key=len)


@pytest.mark.parametrize("name", ["csr_scores_block_5", "csr_scores_block_8", "words_block_5", "codes_scores_block_8"])
def test_the_sums_of_a_row_stay_in_registers(functions, name):
    [wide], _ = by_level(functions[name])
    loop = innermost_loop(wide)
    stores = [
        t for t in loop if re.match(r"v?mov[au]p[ds]\s+%[xy]mm\d+,.*\(", t) or re.match(r"vmovdq[au]\s+%ymm\d+,.*\(", t)
    ]
    assert stores == []
    assert sum("vaddpd" in t or "vfmadd" in t for t in loop) == int(name.rpartition("_")[2])
