"""Build the compiled kernels where there is a C compiler; everything else is in pyproject.toml.

The extension is optional: when it cannot be compiled, the package is installed without it and its NumPy
kernels serve. ``level_avx2.c`` and ``level_avx512.c`` alone are compiled for what their names say, so that the rest
runs on every processor.
"""

import platform
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import CompileError

KERNELS = Path("src/softcount/kernels")
X86 = platform.machine().lower() in ("x86_64", "amd64", "i686", "i386")

# No -O3, which made some loops three times slower, and no -ffast-math, which would break -inf and NaN.
# -fno-trapping-math only says that nobody watches the processor's exception flags; without it, loops
# with comparisons are not vectorized.
GNU_FLAGS = [
    "-std=gnu11",
    "-O2",
    "-g0",
    "-ftree-vectorize",
    "-fno-trapping-math",
    "-fno-math-errno",
    "-ffp-contract=fast",
]
AVX2_FLAGS = ["-mavx2", "-mfma"]
#: Sources compiled for more than every processor has: the macro that says they are there, and their flags. Each needs
#: those before it.
LEVELS = {
    "level_avx2.c": ("SOFTCOUNT_HAS_AVX2", AVX2_FLAGS),
    "level_avx512.c": ("SOFTCOUNT_HAS_AVX512", [*AVX2_FLAGS, "-mavx512f", "-mavx512dq"]),
}


class BuildKernels(build_ext):
    """Compile some sources with other flags than the rest."""

    def build_extension(self, ext):
        """Compile the sources of :data:`LEVELS` by themselves where possible, then the rest, and link them."""
        if self.compiler.compiler_type in ("unix", "mingw32"):
            ext.extra_compile_args = GNU_FLAGS
            for source, (macro, flags) in LEVELS.items() if X86 else ():
                objects = self._compile(source, flags, ext.depends)
                if not objects:
                    break
                ext.extra_objects = [*ext.extra_objects, *objects]
                ext.define_macros = [*ext.define_macros, (macro, "1")]
        super().build_extension(ext)

    def _compile(self, source, flags, depends):
        """Return the object file, or nothing where the compiler does not know the instructions."""
        try:
            return self.compiler.compile(
                [str(KERNELS / source)],
                output_dir=self.build_temp,
                extra_postargs=GNU_FLAGS + flags,
                depends=depends,
            )
        except CompileError:
            return []


# One binary serves every Python from 3.11 on, except the free-threaded ones.
stable_abi = not sysconfig.get_config_var("Py_GIL_DISABLED")

setup(
    ext_modules=[
        Extension(
            "softcount.kernels._native",
            sources=[str(path) for path in sorted(KERNELS.glob("*.c")) if path.name not in LEVELS],
            depends=[str(path) for path in sorted(KERNELS.glob("*.h"))] + [str(KERNELS / source) for source in LEVELS],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if stable_abi else [],
            py_limited_api=stable_abi,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable_abi else {},
)
