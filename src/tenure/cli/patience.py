"""Patience with a ledger that cannot be reached for a while: the work goes on without it."""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias, TypeVar

import anyio

from tenure.errors import CommitUnknownError, OverloadedError, StorageUnavailableError

PATIENCE_SECONDS: Final = 60.0
"""How long the ledger may be unavailable in one go before a command gives up."""
RETRY_SECONDS: Final = 1.0
T = TypeVar("T")
Unavailable: TypeAlias = StorageUnavailableError | OverloadedError | CommitUnknownError
UNAVAILABLE: Final = (StorageUnavailableError, OverloadedError, CommitUnknownError)
"""What a later call may be spared."""


async def patiently(
    call: Callable[[], Awaitable[T]],
    say: Callable[[str], Awaitable[None]],
    *,
    seconds: float = PATIENCE_SECONDS,
) -> T:
    """Call again while the ledger cannot be reached, so long at most; ``call`` is idempotent."""
    failing_since: float | None = None
    while True:
        called_at = anyio.current_time()
        try:
            return await call()
        except UNAVAILABLE as exc:
            now = anyio.current_time()
            if failing_since is None or now - called_at > PATIENCE_SECONDS:
                failing_since = now
                await say(f"{describe_unavailable(exc)}; trying again")
            elif now - failing_since > seconds:
                raise
            await anyio.sleep(RETRY_SECONDS)


def describe_unavailable(exc: Unavailable) -> str:
    """Tell what stands in the way, without the advice that is meant for a caller."""
    match exc:
        case OverloadedError():
            return f"too many calls wait for ledger {exc.ledger}"
        case _:
            return f"ledger {exc.ledger} cannot be reached: {exc.seen}"
