"""The console script as a user calls it: a process, with a state folder of its own."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from tenure.machine import ProcessIdentity, processes_with_environment

SCRIPT = Path(sys.executable).with_name("tenure")
CALL_SECONDS = 60.0


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """How a call ended."""

    code: int
    output: bytes
    errors: str

    @property
    def text(self) -> str:
        """Standard output as text."""
        return self.output.decode()

    @property
    def document(self) -> dict[str, Any]:
        """Standard output as the one JSON document that it has to be."""
        value = json.loads(self.output)
        assert isinstance(value, dict)
        return value

    @property
    def last_error(self) -> str:
        """The last line of standard error."""
        return self.errors.splitlines()[-1]


class Tenure:
    """Calls the console script."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.folder = folder
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("TENURE_", "XDG_")) and name not in ("NO_COLOR", "FORCE_COLOR")
        } | {"TENURE_STATE_DIR": str(self.state), "TERM": "xterm"}
        self.started: list[subprocess.Popen[bytes]] = []

    @property
    def ledger_file(self) -> Path:
        """The default ledger of this state folder."""
        return self.state / "ledger.sqlite"

    def call(self, *arguments: str, cwd: Path | None = None, **environment: str) -> Done:
        """Run one command to its end."""
        done = subprocess.run(
            [SCRIPT, *arguments],
            cwd=cwd or self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=CALL_SECONDS,
            check=False,
        )
        return Done(code=done.returncode, output=done.stdout, errors=done.stderr.decode())

    def start(
        self, *arguments: str, stdout: int = subprocess.PIPE, stderr: int = subprocess.PIPE
    ) -> subprocess.Popen[bytes]:
        """Start one command, and leave it to the test."""
        process = subprocess.Popen(
            [SCRIPT, *arguments],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
        )
        self.started.append(process)
        return process

    def detach(self, *command: str, options: Sequence[str] = ()) -> str:
        """Start an execution that nobody waits for."""
        done = self.call("run", "--detach", *options, "--", *command)
        assert done.code == 0, done.errors
        return done.text.strip()

    def bearers(self) -> list[ProcessIdentity]:
        """List what runs for this state folder's attempts."""
        folder = self.state / "attempts"
        marks = [path.name for path in folder.iterdir()] if folder.is_dir() else []
        return [
            identity
            for mark in marks
            for identity in processes_with_environment("TENURE_MARK", mark).found
        ]

    def wait_until_running(self, path: Path) -> None:
        """Wait for a file that a command makes as its first act."""
        deadline = time.monotonic() + CALL_SECONDS
        while not path.exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def finish(self, process: subprocess.Popen[bytes]) -> Done:
        """Wait for a started command."""
        output, errors = process.communicate(timeout=CALL_SECONDS)
        return Done(code=process.returncode, output=output or b"", errors=(errors or b"").decode())
