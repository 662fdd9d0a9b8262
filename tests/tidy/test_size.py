"""Functions and files stay small enough to be read in one go."""

from collections.abc import Mapping
from pathlib import Path

from tests.tidy.source import ROOT, find_python_files, measure_functions

FUNCTION_LINES_MAX = 50
FUNCTION_LINES_P90_MAX = 20
FILE_LINES_MAX = 500

# Today's offenders, `path` or `path::function` to lines. This list may only shrink: an entry that
# got longer fails, and so does an entry that is no longer needed.
OFFENDERS: Mapping[str, int] = {}


def measure_tree() -> dict[str, int]:
    """Measure each function of the package and of its tests."""
    return {
        f"{path.relative_to(ROOT).as_posix()}::{name}": lines
        for path in find_python_files("src", "tests")
        for name, lines in measure_functions(path.read_text(encoding="utf-8"))
    }


def count_lines(path: Path) -> int:
    """Count the lines of one file."""
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_function_is_longer_than_the_limit() -> None:
    found = {name: lines for name, lines in measure_tree().items() if lines > FUNCTION_LINES_MAX}
    assert found == {name: lines for name, lines in OFFENDERS.items() if "::" in name}


def test_no_file_is_longer_than_the_limit() -> None:
    sizes = {
        path.relative_to(ROOT).as_posix(): count_lines(path)
        for path in find_python_files("src", "tests")
    }
    found = {name: lines for name, lines in sizes.items() if lines > FILE_LINES_MAX}
    assert found == {name: lines for name, lines in OFFENDERS.items() if "::" not in name}


def test_nine_functions_of_ten_in_the_package_are_short() -> None:
    lengths = sorted(lines for name, lines in measure_tree().items() if name.startswith("src/"))
    assert lengths[len(lengths) * 9 // 10] <= FUNCTION_LINES_P90_MAX


def test_the_measure_leaves_out_the_signature_and_the_docstring() -> None:
    text = (
        "class Outer:\n"
        "    async def method(\n        self,\n    ) -> None:\n"
        '        """Say something.\n\n        At length.\n        """\n'
        "        first()\n\n        second()\n\n"
        "        @decorate\n        def inner():\n            pass\n"
        'def documented():\n    """Do nothing."""\n'
    )
    assert dict(measure_functions(text)) == {
        "Outer.method": 7,
        "Outer.method.inner": 1,
        "documented": 0,
    }
