"""Build sdist and wheel and try both in clean environments: the wheel compiled, the sdist without a compiler.

Run it as ``python tools/check_packages.py``; it takes a minute or two, and exits with 1 if anything is amiss.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: What every installation has to be able to do; it prints the kernels in use, what was warned about, and answers.
TRIAL = """
import json, warnings
import numpy as np
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import softcount
    from softcount import kernels
    rng = np.random.default_rng(0)
    X, y = rng.poisson(1.0, (200, 10)), rng.integers(0, 3, 200)
    answers = [getattr(softcount, name)().fit(X, y).predict_proba(X)[:5].tolist()
               for name in ("BernoulliNB", "MultinomialNB", "GaussianNB")]
said = [str(w.message) for w in caught if w.category.__name__ == "KernelFallbackWarning"]
print(json.dumps({"kernels": kernels.backend(), "said": said, "answers": answers}))
"""


def run(*command: str | Path, **environment: str) -> str:
    """What a command prints; its complaint if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
        cwd=tempfile.gettempdir(),
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def tried(package: Path, home: Path, **environment: str) -> dict[str, object]:
    """What the trial says after installing a package into an environment of its own."""
    run(sys.executable, "-m", "venv", home)
    python = home / "bin" / "python"
    run(python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package, **environment)
    found: dict[str, object] = json.loads(run(python, "-c", TRIAL))
    return found


def differences(compiled: dict[str, object], plain: dict[str, object]) -> list[str]:
    """What is not as it should be."""
    found = []
    if compiled["kernels"] != "native" or compiled["said"]:
        found.append(f"The wheel uses the kernels {compiled['kernels']!r} and says {compiled['said']}.")
    said = plain["said"]
    if plain["kernels"] != "numpy" or not isinstance(said, list) or len(said) != 1:
        found.append(f"Without a compiler the kernels are {plain['kernels']!r}, and what is said is {said}.")
    flat = [json.dumps(_rounded(one["answers"])) for one in (compiled, plain)]
    if flat[0] != flat[1]:
        found.append("The answers with compiled kernels and without differ.")
    return found


def _rounded(value: object) -> object:
    if isinstance(value, list):
        return [_rounded(part) for part in value]
    return round(value, 9) if isinstance(value, float) else value


def main() -> int:
    """Build, install, try, compare."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        run(sys.executable, "-m", "build", "--outdir", home / "dist", ROOT)
        [wheel], [sdist] = (home / "dist").glob("*.whl"), (home / "dist").glob("*.tar.gz")
        print(f"built {wheel.name} ({wheel.stat().st_size / 1e6:.2f} MB) and {sdist.name}")
        compiled = tried(wheel, home / "compiled")
        print(f"wheel: kernels {compiled['kernels']}")
        # A compiler that always fails is as good as none.
        plain = tried(sdist, home / "plain", CC="/bin/false", CXX="/bin/false")
        print(f"sdist without a compiler: kernels {plain['kernels']}; it says: {plain['said']}")
    found = differences(compiled, plain)
    for difference in found:
        print(difference)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
