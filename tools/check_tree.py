"""Check the shape of the source tree: short files, short functions, telling names, light imports.

Run it as ``python tools/check_tree.py``; it prints every violation and exits with 1 if there is any.
"""

import ast
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 80

CHECKED_FOLDERS = ("src", "tests", "tools", "benchmarks", "studies")
CODE_SUFFIXES = {".py", ".pyi", ".c", ".h", ".js", ".css", ".html"}
NAMES_THAT_SAY_NOTHING = {"utils", "util", "common", "helpers", "helper", "misc"}

# Loaded only when they are asked for, so that `import softcount` and `softcount --help` stay quick
# and the core works without them.
LAZY_LIBRARIES = {"click", "rich", "matplotlib", "onnx", "pandas", "polars", "pyarrow"}
MAY_IMPORT_THEM = ("cli", "label", "report", "demo", "explain/plots")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


def check_tree(root: Path) -> list[str]:
    """Return one line per violation in the tree under ``root``, sorted by path."""
    violations: list[str] = []
    for path in _code_files(root):
        where = path.relative_to(root).as_posix()
        text = path.read_text(encoding="utf-8")
        violations += check_name(where) + check_file_length(where, text)
        if path.suffix == ".py":
            module = ast.parse(text, filename=where)
            violations += check_function_lengths(where, module) + check_imports(where, module)
    return violations


def check_name(where: str) -> list[str]:
    """A file is named for what is in it."""
    stem = Path(where).stem.lstrip("_")
    if stem not in NAMES_THAT_SAY_NOTHING:
        return []
    return [f"{where}: the name {stem!r} says nothing about the content; name the file for its one job"]


def check_file_length(where: str, text: str) -> list[str]:
    """A file has at most ``MAX_FILE_LINES`` lines."""
    n_lines = len(text.splitlines())
    if n_lines <= MAX_FILE_LINES:
        return []
    return [f"{where}: {n_lines} lines, at most {MAX_FILE_LINES} are allowed; split it by job"]


def check_function_lengths(where: str, module: ast.Module) -> list[str]:
    """A function has at most ``MAX_FUNCTION_LINES`` lines, its docstring not counted."""
    return [
        f"{where}:{node.lineno}: function {node.name!r} has {n_lines} lines without its docstring, "
        f"at most {MAX_FUNCTION_LINES} are allowed; split it by step"
        for node in ast.walk(module)
        if isinstance(node, FunctionNode) and (n_lines := _lines_without_docstring(node)) > MAX_FUNCTION_LINES
    ]


def check_imports(where: str, module: ast.Module) -> list[str]:
    """Modules of the package load terminal, drawing and table libraries inside functions only."""
    if not where.startswith("src/softcount/"):
        return []
    inside = where.removeprefix("src/softcount/").removesuffix(".py")
    if any(inside == part or inside.startswith(f"{part}/") for part in MAY_IMPORT_THEM):
        return []
    return [
        f"{where}:{line}: {library!r} is imported at module level; import it in the function that needs it"
        for line, library in _imports_at_module_level(module.body)
        if library in LAZY_LIBRARIES
    ]


def _code_files(root: Path) -> list[Path]:
    return sorted(
        path
        for folder in CHECKED_FOLDERS
        for path in (root / folder).rglob("*")
        if path.suffix in CODE_SUFFIXES and path.is_file() and "__pycache__" not in path.parts
    )


def _lines_without_docstring(node: FunctionNode) -> int:
    n_lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return n_lines
    docstring = node.body[0]
    return n_lines - ((docstring.end_lineno or docstring.lineno) - docstring.lineno + 1)


def _imports_at_module_level(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield line and top-level package of each import that runs when the module is imported."""
    for node in nodes:
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name.partition(".")[0]) for alias in names)
            case ast.ImportFrom(module=str(name), level=0):
                yield node.lineno, name.partition(".")[0]
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                yield from _imports_at_module_level(node.orelse)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                continue
            case _:
                yield from _imports_at_module_level(ast.iter_child_nodes(node))


def main() -> int:
    """Check the repository this file lies in."""
    root = Path(__file__).resolve().parents[1]
    violations = check_tree(root)
    for violation in violations:
        print(violation)
    print(f"check_tree: {len(violations)} violations" if violations else "check_tree: ok")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
