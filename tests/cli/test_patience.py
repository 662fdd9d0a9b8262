"""Patience with a ledger that cannot be reached, and its end."""

import pytest

from tenure.cli import patience
from tenure.cli.patience import patiently
from tenure.errors import StorageUnavailableError


class Calls:
    """A ledger that fails so often, and the lines that were said meanwhile."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.lines: list[str] = []

    async def call(self) -> str:
        """Fail, or answer."""
        self.failures -= 1
        if self.failures >= 0:
            raise StorageUnavailableError(ledger="sqlite:///l", seen="it is locked")
        return "answer"

    async def say(self, line: str) -> None:
        """Keep a line."""
        self.lines.append(line)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Try again soon."""
    monkeypatch.setattr(patience, "RETRY_SECONDS", 0.01)


async def test_what_fails_for_a_while_is_called_again_and_told_once() -> None:
    calls = Calls(failures=5)
    assert await patiently(calls.call, calls.say) == "answer"
    assert calls.lines == ["ledger sqlite:///l cannot be reached: it is locked; trying again"]


async def test_patience_ends() -> None:
    calls = Calls(failures=10_000)
    with pytest.raises(StorageUnavailableError):
        await patiently(calls.call, calls.say, seconds=0.05)
    assert len(calls.lines) == 1
