"""Imports point down only, and each contract in pyproject.toml would notice if they did not."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import grimp
import pytest
from tests.tidy.source import PYPROJECT, ROOT, read_pyproject

CONTRACTS = {
    contract["id"]: contract for contract in read_pyproject()["tool"]["importlinter"]["contracts"]
}

# The outside world, the clock and the dice.
IMPURE = CONTRACTS["model-is-pure"]["forbidden_modules"]

# A program of its own, because the linter reads the package that the interpreter would import.
LINT = """
import sys
from importlinter.cli import lint_imports
config, *contracts = sys.argv[1:]
sys.exit(lint_imports(config, tuple(contracts), no_cache=True, no_logo=True, is_debug_mode=True))
"""


class Plant(NamedTuple):
    """One violation: lines appended to modules of a copy, and what the report must then say."""

    contract: str
    lines: dict[str, str]
    reports: list[str]


def plant(contract: str, importer: str, *imported: str) -> Plant:
    """Plant forbidden imports in one module; those of ours are made if they are not there yet."""
    ours = {name: "" for name in imported if name.startswith("tenure.")}
    return Plant(
        contract,
        {**ours, importer: f"import {', '.join(imported)}"},
        [f"{importer} -> {name} (l." for name in imported],
    )


PLANTS = [
    plant("layers", "tenure.errors", "tenure.model"),
    plant("layers", "tenure.model.planted", "tenure.kernel"),
    plant("layers", "tenure.kernel.planted", "tenure.wire"),
    plant("layers", "tenure.ports.planted", "tenure.ledger"),
    plant("layers", "tenure.remediation.planted", "tenure.authority"),
    plant("layers", "tenure.worker.planted", "tenure.stores"),
    plant("layers", "tenure.worker.planted", "tenure.wiring"),
    Plant("layers", {"tenure.unplaced": ""}, ["unplaced"]),
    plant("kernel-is-pure", "tenure.kernel.planted", "datetime", *IMPURE),
    plant("kernel-is-pure", "tenure.kernel", "datetime", *IMPURE),
    plant("model-is-pure", "tenure.model", *IMPURE),
    plant("model-is-pure", "tenure.model.planted", *IMPURE),
    plant("model-is-pure", "tenure.errors", *IMPURE),
    plant("stores-independent", "tenure.stores.sqlite", "tenure.stores.memory"),
    plant("stores-independent", "tenure.stores.memory", "tenure.stores.planted"),
    plant("providers-independent", "tenure.providers.one", "tenure.providers.two"),
    plant("providers-independent", "tenure.providers.process.planted", "tenure.providers.detached"),
    plant("providers-independent", "tenure.providers.local", "tenure.providers.detached.planted"),
    plant("driver-stays-home", "tenure.ledger.planted", "apsw"),
    plant("driver-stays-home", "tenure.stores.planted", "apsw"),
    plant("driver-stays-home", "tenure", "apsw"),
    plant("no-second-sqlite", "tenure.stores.sqlite", "sqlite3"),
    plant("no-second-sqlite", "tenure", "sqlite3"),
    plant("terminal-stays-in-cli", "tenure.authority.planted", "cyclopts", "rich"),
    plant("terminal-stays-in-cli", "tenure.wiring", "cyclopts", "rich"),
    plant("only-wiring-names-adapters", "tenure.cli.planted", "tenure.stores.memory"),
    plant("only-wiring-names-adapters", "tenure.conformance.planted", "tenure.providers.one"),
    Plant(
        "root-stays-a-door",
        {"tenure.ledger.planted": "from tenure import __version__"},
        ["tenure.ledger.planted -> tenure (l."],
    ),
    Plant(
        "no-sibling-cycles",
        {
            "tenure.ledger.one": "import tenure.ledger.two",
            "tenure.ledger.two": "import tenure.ledger.one",
        },
        ["No cycles are allowed in tenure.ledger."],
    ),
]


def name_plant(value: Plant) -> str:
    """Name a planted violation by its contract and the modules that it touches."""
    return f"{value.contract}: {', '.join(value.lines)}"


def lint(source: Path, *contracts: str) -> tuple[int, str]:
    """Run the linter over the package in this folder; return its exit status and its report."""
    done = subprocess.run(
        [sys.executable, "-c", LINT, str(PYPROJECT), *contracts],
        cwd=source,
        env={"COLUMNS": "1000"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def copy_source(folder: Path) -> Path:
    """Copy the package's source to a folder where it can be spoiled."""
    return Path(shutil.copytree(ROOT / "src", folder / "src"))


def append(source: Path, module: str, line: str) -> None:
    """Append a line to a module, which is made if it is not there, with its packages."""
    *packages, name = module.split(".")
    folder = source.joinpath(*packages)
    for package in [folder, *folder.relative_to(source).parents][:-1]:
        (source / package).mkdir(exist_ok=True, parents=True)
        (source / package / "__init__.py").touch()
    file = folder / name / "__init__.py" if (folder / name).is_dir() else folder / f"{name}.py"
    with file.open("a", encoding="utf-8") as text:
        text.write(f"\n{line}\n")


def test_imports_point_down_only() -> None:
    status, report = lint(ROOT / "src")
    assert status == 0, report


def test_no_module_inside_imports_the_package_root() -> None:
    graph = grimp.build_graph("tenure", cache_dir=None)
    assert graph.find_modules_that_directly_import("tenure") == set()


@pytest.mark.parametrize("planted", PLANTS, ids=name_plant)
def test_planted_violation_is_reported(planted: Plant, tmp_path: Path) -> None:
    source = copy_source(tmp_path)
    for module, line in planted.lines.items():
        append(source, module, line)
    status, report = lint(source, planted.contract)
    assert status == 1, report
    assert f"{CONTRACTS[planted.contract]['name']} BROKEN" in report
    assert [line for line in planted.reports if line not in report] == []


def test_every_contract_has_a_planted_violation() -> None:
    assert {planted.contract for planted in PLANTS} == set(CONTRACTS)


def test_the_kernel_is_held_to_the_purity_of_the_model_and_takes_instants_as_they_come() -> None:
    kernel = CONTRACTS["kernel-is-pure"]["forbidden_modules"]
    assert kernel == sorted(["datetime", *IMPURE])
