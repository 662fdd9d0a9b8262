"""What the agent costs while its command runs."""

import subprocess
import sys

SCRIPT = """
import sys
from pathlib import Path
import tenure.wiring.agent
import tenure.worker.agent
heavy = {"asyncio", "anyio", "apsw", "ssl", "logging"} & sys.modules.keys()
lines = Path("/proc/self/status").read_text().splitlines()
print(*[line.split()[1] for line in lines if line.startswith("VmHWM")], *sorted(heavy))
"""


def test_no_event_loop_and_no_driver_is_loaded_before_there_is_an_outcome() -> None:
    command = [sys.executable, "-P", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    kilobytes, *heavy = done.stdout.split()
    assert heavy == []
    assert int(kilobytes) < 30_000
