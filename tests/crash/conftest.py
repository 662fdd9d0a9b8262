"""Real controllers that are killed, on a real ledger, with real commands."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tenure.machine import processes_with_environment, signal_process
from tenure.wire import attempt_folder

DYING_CONTROLLER = Path(__file__).with_name("dying_controller.py")
TENURE = str(Path(sys.executable).with_name("tenure"))
LEASE_AND_MORE_SECONDS = 60
"""A dead controller's lease runs 15 s; the rest is patience for a busy machine."""


@dataclass
class Site:
    """One user's state folder, with the commands that are run in it."""

    folder: Path
    marks: set[str] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"sqlite:///{self.folder}/ledger.sqlite"

    @property
    def environment(self) -> dict[str, str]:
        own = {k: v for k, v in os.environ.items() if not k.startswith("TENURE_")}
        return {**own, "TENURE_STATE_DIR": str(self.folder)}

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        """Start ``tenure`` in the background, its output thrown away."""
        return subprocess.Popen(
            [TENURE, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def tenure(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run ``tenure`` to its end."""
        return subprocess.run(
            [TENURE, *arguments],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LEASE_AND_MORE_SECONDS,
            check=False,
        )

    def read(self, *arguments: str) -> object:
        """Run a ``tenure`` command with ``--json`` and decode what it prints."""
        done = self.tenure(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def die_at(
        self, point: str, execution_id: str, command: Sequence[str], *, provider: str = "detached"
    ) -> None:
        """Run a controller that kills itself at ``point`` of dispatching ``command``."""
        script = str(DYING_CONTROLLER)
        done = subprocess.run(
            [sys.executable, script, self.url, execution_id, point, provider, *command],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LEASE_AND_MORE_SECONDS,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr

    def marked(self) -> list[int]:
        """List the processes that carry a mark of this site."""
        attempts = self.folder / "attempts"
        marks = {path.name for path in attempts.iterdir()} if attempts.is_dir() else set()
        self.marks |= marks
        return [
            process.pid
            for mark in self.marks
            for process in processes_with_environment(attempt_folder.MARK_VARIABLE, mark).found
        ]

    def kill_agent(self) -> None:
        """End the one agent of this site at once, and nothing else."""
        (record,) = (self.folder / "attempts").glob(f"*/{attempt_folder.AGENT_FILE}")
        os.kill(json.loads(record.read_text())["pid"], signal.SIGKILL)

    def cleanup(self) -> None:
        """End what the test left behind, by identity."""
        for mark in self.marks | {p.name for p in (self.folder / "attempts").glob("*")}:
            for process in processes_with_environment(attempt_folder.MARK_VARIABLE, mark).found:
                signal_process(process, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    site = Site(tmp_path / "state")
    site.folder.mkdir(mode=0o700)
    yield site
    site.cleanup()


def until(seen: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait until something is seen, with a bound."""
    end = time.monotonic() + seconds
    while not seen():
        assert time.monotonic() < end, "what was waited for did not come"
        time.sleep(0.05)
