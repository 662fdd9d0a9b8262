"""The package root: its lazy table, its type-checking imports and what it gives are one list."""

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import tenure

ROOT_MODULE = Path(tenure.__file__)


def type_checking_imports() -> dict[str, str]:
    """Map each name that a type checker sees to the module that it comes from."""
    tree = ast.parse(ROOT_MODULE.read_text(encoding="utf-8"))
    (guarded,) = [
        node
        for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    found = {}
    for node in guarded.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            assert alias.asname == alias.name, f"{alias.name} is not re-exported"
            found[alias.name] = str(node.module)
    return found


def test_lazy_table_equals_the_type_checking_imports() -> None:
    assert type_checking_imports() == tenure._HOME_OF


def test_everything_public_is_listed_once() -> None:
    assert sorted(tenure.__all__) == sorted(["__version__", *tenure._HOME_OF])
    assert len(set(tenure.__all__)) == len(tenure.__all__)
    assert set(tenure.__all__) <= set(dir(tenure))


@pytest.mark.parametrize("name", sorted(tenure._HOME_OF))
def test_name_resolves_to_what_its_home_holds(name: str) -> None:
    home = importlib.import_module(tenure._HOME_OF[name])
    assert getattr(tenure, name) is getattr(home, name)


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing_of_this_name'"):
        _ = tenure.nothing_of_this_name


def test_importing_the_root_loads_nothing_else() -> None:
    script = "import sys, tenure; print([m for m in sys.modules if m.startswith('tenure.')])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert done.stdout.strip() == b"[]"
