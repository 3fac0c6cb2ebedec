"""The compiler has done what the sources count on: vectors in registers of the right width, and only there."""

import re
import shutil
import subprocess

import pytest

from tests.kernels.conftest import native_extension


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
    """The versions of a function by the widest registers they use: AVX2's, AVX-512's, and the others."""
    widest = [[b for b in bodies if "%zmm" in b], [b for b in bodies if "%ymm" in b and "%zmm" not in b]]
    return widest[1], [b for b in bodies if "%ymm" not in b and "%zmm" not in b], widest[0]


@pytest.mark.parametrize(
    "name", ["csr_scores_block_5", "csr_accumulate_block_5", "words_block_5", "codes_scores_block_2", "softmax_panel"]
)
def test_only_the_level_for_it_uses_wide_registers(functions, name):
    wide, narrow, widest = by_level(functions[name])
    assert len(wide) == 1
    assert len(narrow) == 2
    assert len(widest) == (name == "softmax_panel" and has_avx512())


def has_avx512():
    """Whether the extension was compiled for AVX-512 as well, and runs with it."""
    return "avx512" in native_extension().levels()


@pytest.mark.parametrize("name", ["gaussian_scores", "full_scores", "add_scatter_tile", "softmax_panel"])
def test_the_widest_level_multiplies_and_adds_in_whole_registers(functions, name):
    if not has_avx512():
        pytest.skip("needs a build and a processor with AVX-512")
    _, _, [widest] = by_level(functions[name])
    assert re.search(r"vfn?m(add|sub)\d+pd.*%zmm", widest)
    # Registers that are spilled to memory inside a loop would make it many times slower.
    assert len(re.findall(r"vmovap[ds]\s+%zmm\d+,-?0x[0-9a-f]+\(%r[sb]p\)", widest)) <= 8


@pytest.mark.parametrize(
    "name", ["gaussian_scores", "full_scores", "add_scatter_tile", "logistic_score", "softmax_panel"]
)
def test_the_wide_level_multiplies_and_adds_in_one_instruction(functions, name):
    wide, narrow, _ = by_level(functions[name])
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
    [wide], _, _ = by_level(functions[name])
    loop = innermost_loop(wide)
    stores = [
        t for t in loop if re.match(r"v?mov[au]p[ds]\s+%[xy]mm\d+,.*\(", t) or re.match(r"vmovdq[au]\s+%ymm\d+,.*\(", t)
    ]
    assert stores == []
    assert sum("vaddpd" in t or "vfmadd" in t for t in loop) == int(name.rpartition("_")[2])
