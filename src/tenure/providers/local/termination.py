"""End an attempt: ask its agent, then kill everything that belongs to it until nothing is seen.

Only identities are signalled, never numbers: a reused number is a stranger's. And only those that
carry the mark or inherited the lock: whoever is merely named by a file may be a stranger as well.
"""

import signal
from typing import Final

import anyio
import msgspec
from anyio import to_thread

from tenure.machine import Alive, ProcessIdentity, Sent, observe, signal_process
from tenure.machine.inheritor import lock_inheritors
from tenure.providers.local.belonging import Belonging, belonging, is_lock_of
from tenure.providers.local.reference import Allocation
from tenure.providers.local.witness import scan

SWEEPS_MAX: Final = 100
POLL_SECONDS: Final = 0.05


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """What had to be killed."""

    agent: bool
    others: int
    """How many processes besides agent and keeper."""


async def ask_agent(mark: str, allocation: Allocation, *, grace_seconds: float) -> None:
    """Send SIGTERM to a living agent, and wait for its end at most so long.

    Raises:
        OSError: the host cannot be read.
    """
    agent = allocation.agent
    if agent is None or not _is_living(agent, mark, allocation):
        return
    signal_process(agent, signal.SIGTERM)
    with anyio.move_on_after(grace_seconds):
        while isinstance(observe(agent), Alive):  # noqa: ASYNC110  (another process's end)
            await anyio.sleep(POLL_SECONDS)


async def let_keeper_end(mark: str, allocation: Allocation, *, seconds: float) -> None:
    """Kill the agent, and wait for what its keeper makes of that, at most so long.

    The keeper, or the kernel for a namespace, reaches also who shed both mark and lock; a keeper
    that is killed together with its agent could not.

    Raises:
        OSError: the host cannot be read.
    """
    if allocation.agent is not None and _is_living(allocation.agent, mark, allocation):
        signal_process(allocation.agent, signal.SIGKILL)
    with anyio.move_on_after(seconds):
        while (await to_thread.run_sync(scan, mark, allocation.since_ticks)).found:  # noqa: ASYNC110
            await anyio.sleep(POLL_SECONDS)


async def kill_everything(mark: str, allocation: Allocation) -> Ended:
    """Kill whoever carries the mark or inherited the lock, until nobody is left to be killed.

    Bounded: what multiplies faster than it is killed, or cannot be killed, is left for the next
    call; the caller looks afterwards and says so.

    Raises:
        OSError: the host cannot be read.
    """
    ended: set[ProcessIdentity] = set()
    for _ in range(SWEEPS_MAX):
        killed = await to_thread.run_sync(_sweep, mark, allocation)
        if not killed:
            break
        ended |= killed
        await anyio.sleep(POLL_SECONDS)
    keeper = None if allocation.keeper is None else allocation.keeper.process
    return Ended(agent=allocation.agent in ended, others=len(ended - {allocation.agent, keeper}))


def _sweep(mark: str, allocation: Allocation) -> set[ProcessIdentity]:
    targets = set(scan(mark, allocation.since_ticks).found)
    if allocation.lock is not None:
        since, is_name = allocation.since_ticks, is_lock_of(mark)
        targets |= set(lock_inheritors(allocation.lock, is_name=is_name, since_ticks=since).found)
    if allocation.agent is not None and _is_living(allocation.agent, mark, allocation):
        targets.add(allocation.agent)
    if allocation.keeper is not None:
        keeper = allocation.keeper.process
        # It alone can reach who shed both mark and lock, and ends when all of them have.
        targets.discard(keeper)
        is_needless = allocation.keeper.isolation == "namespace"
        if is_needless and _is_living(keeper, mark, allocation):
            targets.add(keeper)
    # All are stopped before the first is killed, so that none can start a successor meanwhile.
    for target in targets:
        signal_process(target, signal.SIGSTOP)
    return {
        target for target in targets if isinstance(signal_process(target, signal.SIGKILL), Sent)
    }


def _is_living(process: ProcessIdentity, mark: str, allocation: Allocation) -> bool:
    if not isinstance(observe(process), Alive):
        return False
    return belonging(process, mark=mark, lock=allocation.lock) is Belonging.OURS
