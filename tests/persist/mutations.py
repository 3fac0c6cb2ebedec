"""Damage to model files. As a script it goes on for as long as one likes:

``python -m tests.persist.mutations tests/persist/files/*.softcount --minutes 60``
"""

import argparse
import struct
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

import softcount
from softcount._errors import InputError


def mutated(sound: bytes, rng: np.random.Generator) -> bytes:
    """A file with bytes changed, a run of them removed or doubled, or a number of its header replaced."""
    data = bytearray(sound)
    kind, place = rng.integers(5), int(rng.integers(len(data)))
    (length,) = struct.unpack("<Q", data[:8])
    if kind == 0:
        for i in rng.integers(0, len(data), 3):
            data[i] = int(rng.integers(256))
    elif kind == 1:
        del data[place : place + int(rng.integers(1, 40))]
    elif kind == 2:
        data[place:place] = data[place : place + int(rng.integers(1, 40))]
    elif kind == 3:
        digits = [i for i in range(8, 8 + length) if 48 <= data[i] <= 57]
        data[digits[int(rng.integers(len(digits)))]] = 48 + int(rng.integers(10))
    else:
        # Numbers that arrays hold: NaN, infinity, negative and huge ones.
        at = 8 + length + int(rng.integers(max(1, (len(data) - 8 - length) // 8))) * 8
        strange = (struct.pack("<d", rng.choice([np.nan, np.inf, -1e300])), struct.pack("<q", rng.choice([-1, 2**62])))
        data[at : at + 8] = strange[int(rng.integers(2))][: len(data) - at]
    return bytes(data)


def outcome_of(path: Path, data: bytes) -> str:
    """What loading a file ends in; anything but a refusal or a model is a fault of the loader."""
    path.write_bytes(data)
    try:
        model = softcount.load(path)
    except InputError:
        return "refused"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "loaded" if type(model).__module__.startswith("softcount.") else f"made a {type(model)}"


def main() -> int:
    """Mutate files until the time is over; tell what came of it, and keep what should not have been."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    told = parser.parse_args()
    rng, found, slowest = np.random.default_rng(told.seed), Counter[str](), 0.0
    sound = [path.read_bytes() for path in told.files]
    for path in told.files:
        softcount.load(path)  # what it takes to import is no fault of a file
    end = time.monotonic() + 60.0 * told.minutes
    with tempfile.TemporaryDirectory() as folder:
        while time.monotonic() < end:
            data = mutated(sound[int(rng.integers(len(sound)))], rng)
            began = time.monotonic()
            outcome = outcome_of(Path(folder) / "m", data)
            slowest = max(slowest, time.monotonic() - began)
            found[outcome] += 1
            if outcome not in ("refused", "loaded"):
                Path(f"fault-{found.total()}.softcount").write_bytes(data)
    print(f"{found.total():,} files, the slowest {slowest:.2f} s")
    for outcome, n in found.most_common():
        print(f"{n:8,}  {outcome}")
    return int(bool(set(found) - {"refused", "loaded"}))


if __name__ == "__main__":
    raise SystemExit(main())
