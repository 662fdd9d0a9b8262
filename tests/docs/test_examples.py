"""The programs that are shown do what is said of them."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.docs.test_contract import ROOT


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TENURE_STATE_DIR": str(folder / "state")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_embedding_of_the_readme_grants_once(tmp_path: Path) -> None:
    (program,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "embed.py").write_text(program)
    first = run(tmp_path, "embed.py")
    assert first.returncode == 0, first.stderr
    assert "create the machine now" in first.stdout
    second = run(tmp_path, "embed.py")
    assert second.returncode == 1
    assert "DuplicateExecutionAttemptError" in second.stderr


def test_service_runs_an_execution_once_and_takes_its_end_over_once(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    url = f"sqlite:///{tmp_path}/service.sqlite"
    command = ("sh", "-c", f"echo ran >> {ran}")
    service = str(ROOT / "examples" / "service.py")
    first = run(tmp_path, service, url, "s-1", *command)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith("s-1 ended: CompletedResult(")
    second = run(tmp_path, service, url, "s-1", *command)
    assert (second.returncode, second.stdout) == (0, "")
    assert ran.read_text() == "ran\n"


def test_service_is_twenty_lines() -> None:
    text = (ROOT / "examples" / "service.py").read_text()
    body = text.split("async def main", 1)[1].splitlines()
    assert sum(1 for line in body if line.strip()) <= 22
