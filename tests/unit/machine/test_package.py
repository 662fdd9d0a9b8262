"""The package gives every name, and loads no more than is asked for."""

import subprocess
import sys

import pytest

import tenure.machine

SCRIPT = """
import sys
import tenure.machine.durable
print(*sorted(name for name in sys.modules if name.startswith("tenure.machine.")))
"""


def test_every_name_is_there_and_no_other() -> None:
    for name in tenure.machine.__all__:
        assert getattr(tenure.machine, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = tenure.machine.nothing


def test_one_part_does_not_load_the_others() -> None:
    command = [sys.executable, "-P", "-c", SCRIPT]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["tenure.machine.durable"]
