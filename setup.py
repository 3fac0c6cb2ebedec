"""Build the compiled kernels where there is a C compiler; everything else is in pyproject.toml.

The extension is optional: when it cannot be compiled, the package is installed without it and its NumPy
kernels serve. ``level_avx2.c`` alone is compiled for AVX2, so that the rest runs on every processor.
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


class BuildKernels(build_ext):
    """Compile one source with other flags than the rest."""

    def build_extension(self, ext):
        """Compile ``level_avx2.c`` by itself where possible, then the rest, and link them."""
        if self.compiler.compiler_type in ("unix", "mingw32"):
            ext.extra_compile_args = GNU_FLAGS
            objects = self._compile_avx2(ext.depends) if X86 else []
            if objects:
                ext.extra_objects = objects
                ext.define_macros = [*ext.define_macros, ("SOFTCOUNT_HAS_AVX2", "1")]
        super().build_extension(ext)

    def _compile_avx2(self, depends):
        """Return the object file, or nothing where the compiler's target has no AVX2."""
        try:
            return self.compiler.compile(
                [str(KERNELS / "level_avx2.c")],
                output_dir=self.build_temp,
                extra_postargs=GNU_FLAGS + AVX2_FLAGS,
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
            sources=[str(path) for path in sorted(KERNELS.glob("*.c")) if path.name != "level_avx2.c"],
            depends=[str(path) for path in sorted(KERNELS.glob("*.h"))],
            define_macros=[("Py_LIMITED_API", "0x030B0000")] if stable_abi else [],
            py_limited_api=stable_abi,
            optional=True,
        )
    ],
    cmdclass={"build_ext": BuildKernels},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if stable_abi else {},
)
