"""Lint, format, types and spelling: the gates that are programs of their own."""

import subprocess
import sys

import pytest
from tests.tidy.source import ROOT

GATES = {
    "lint": ["ruff", "check", "."],
    "format": ["ruff", "format", "--check", "."],
    "types": ["mypy"],
    "spelling": ["codespell_lib", "."],
}


@pytest.mark.timeout(600)
@pytest.mark.parametrize("gate", GATES)
def test_gate_finds_nothing(gate: str) -> None:
    command = [sys.executable, "-m", *GATES[gate]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.fail(f"python -m {' '.join(GATES[gate])}\n{done.stdout}{done.stderr}", pytrace=False)
