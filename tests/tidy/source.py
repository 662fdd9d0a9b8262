"""Where the tree is, and what belongs to it. Shared by the tests of this folder."""

import ast
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = ROOT / "pyproject.toml"

SKIPPED_FOLDERS = frozenset({"__pycache__", "build", "dist", "node_modules"})


def read_pyproject() -> dict[str, Any]:
    """Parse the project's settings."""
    return tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))


def find_python_files(*folders: str) -> list[Path]:
    """List the Python files below these folders of the project, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def find_tracked_files() -> list[Path]:
    """List the project's files: what git tracks, or, in an unpacked archive, all but litter."""
    listing = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=False
    )
    if listing.returncode == 0 and listing.stdout:
        tracked = (ROOT / name for name in listing.stdout.decode().split("\0") if name)
        return [path for path in tracked if path.is_file()]
    return [path for path in sorted(ROOT.rglob("*")) if path.is_file() and not _is_litter(path)]


def _is_litter(path: Path) -> bool:
    parts = path.relative_to(ROOT).parts
    hidden = any(part.startswith(".") for part in parts[:-1] if part != ".ci")
    return hidden or not SKIPPED_FOLDERS.isdisjoint(parts) or path.suffix == ".pyc"


def measure_functions(text: str) -> Iterator[tuple[str, int]]:
    """Yield each function's dotted name and the lines of its body, the docstring left out."""
    pending: list[tuple[str, ast.AST]] = [("", ast.parse(text))]
    while pending:
        prefix, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            name = prefix
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}.{child.name}".lstrip(".")
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield name, _measure_body(child)
            pending.append((name, child))


def _measure_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    start = body[0].lineno
    if isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        start = min([start, *(decorator.lineno for decorator in body[0].decorator_list)])
    return (body[-1].end_lineno or start) - start + 1
