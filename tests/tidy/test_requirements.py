"""The locked requirements agree with the bounds in pyproject.toml, and every one has its hash."""

import re

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.tidy.source import ROOT, read_pyproject

PIN = re.compile(r"^(?P<name>[\w.-]+)==(?P<version>[^ ;\\]+)")


def read_bounds(file: str) -> list[Requirement]:
    """List what pyproject.toml asks of the packages that this file locks."""
    project = read_pyproject()["project"]
    extra = project["optional-dependencies"]["dev"] if file == "dev.txt" else []
    return [Requirement(line) for line in (*project["dependencies"], *extra)]


def read_lock(file: str) -> list[str]:
    """List the entries of one locked file, each on one line."""
    text = (ROOT / "requirements" / file).read_text(encoding="utf-8")
    return text.replace("\\\n", " ").splitlines()


def read_pins(file: str) -> dict[str, str]:
    """Map each package of one locked file to its version."""
    found = map(PIN.match, read_lock(file))
    return {canonicalize_name(pin["name"]): pin["version"] for pin in found if pin}


@pytest.mark.parametrize("file", ["run.txt", "dev.txt"])
def test_lock_satisfies_every_bound(file: str) -> None:
    pins = {
        canonicalize_name(m["name"]): m["version"] for m in map(PIN.match, read_lock(file)) if m
    }
    unmet = [
        str(bound)
        for bound in read_bounds(file)
        if not bound.specifier.contains(pins.get(canonicalize_name(bound.name), "0"))
    ]
    assert unmet == []


@pytest.mark.parametrize("file", ["run.txt", "dev.txt"])
def test_every_locked_entry_is_a_pin_with_a_hash(file: str) -> None:
    loose = [
        line for line in read_lock(file) if not PIN.match(line) or "--hash=sha256:" not in line
    ]
    assert loose == []


def test_what_runs_is_what_was_tested() -> None:
    assert read_pins("run.txt").items() <= read_pins("dev.txt").items()
