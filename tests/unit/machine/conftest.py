"""Real processes that end with the test, and a /proc made of files."""

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.unit.machine.fakes import RAW_MACHINE_ID, FakeHost, RunPython, Start, Unshare

from tenure.machine.host import INITIAL_PID_NAMESPACE


@pytest.fixture
def start() -> Iterator[Start]:
    """Start processes that live until their input ends, at the latest with the test."""
    with contextlib.ExitStack() as stack:

        def start_one(
            command: Sequence[str | Path] = ("cat",), **options: object
        ) -> subprocess.Popen[bytes]:
            process: subprocess.Popen[bytes] = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                **options,  # type: ignore[call-overload]  # Popen checks them
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            return process

        yield start_one


@pytest.fixture
def run_python() -> RunPython:
    """Run a script in a fresh interpreter, possibly under a wrapper, and give what it printed."""

    def run(code: str, *arguments: str, wrapper: Sequence[str] = ()) -> str:
        command = [*wrapper, sys.executable, "-c", code, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    return run


@pytest.fixture
def unshare() -> Unshare:
    """Give the wrapper that runs a command in new namespaces, or skip."""

    def wrapper(*options: str) -> list[str]:
        program = shutil.which("unshare")
        if program is None:
            pytest.skip("there is no unshare")
        command = [program, *options]
        tried = subprocess.run([*command, "true"], capture_output=True, text=True, check=False)
        if tried.returncode:
            pytest.skip(f"unshare is not permitted: {tried.stderr.strip()}")
        return command

    return wrapper


@pytest.fixture
def fake_host(tmp_path: Path) -> FakeHost:
    host = FakeHost(tmp_path / "host")
    host.write("etc/machine-id", RAW_MACHINE_ID + "\n")
    host.write("proc/self/status", "Name:\tx\nNSpid:\t5\nCapEff:\t0000000000000000\n")
    host.write("proc/self/mountinfo", "")
    host.set_boot("11111111-2222-4333-8444-555555555555")
    host.set_namespace(INITIAL_PID_NAMESPACE)
    host.link("time", "time:[4026531834]")
    host.link("time_for_children", "time:[4026531834]")
    host.link("user", "user:[4026531837]")
    host.set_offset_ns(0)
    return host
