"""After each test nothing that it started may be left.

What is left is ended by its identity, and fails the test.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.calling import Tenure

from tenure.machine import signal_process

END_SECONDS = 10.0


@pytest.fixture
def tenure(tmp_path: Path) -> Iterator[Tenure]:
    calls = Tenure(tmp_path)
    yield calls
    for process in calls.started:
        process.kill()
        process.communicate()
    deadline = time.monotonic() + END_SECONDS
    while (left := calls.bearers()) and time.monotonic() < deadline:
        time.sleep(0.05)
    while remaining := calls.bearers():
        for identity in remaining:
            signal_process(identity, signal.SIGKILL)
        time.sleep(0.05)
    assert left == []
