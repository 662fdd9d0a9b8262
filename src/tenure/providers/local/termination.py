"""End an attempt: ask its agent, then kill everything that belongs to it until nothing is seen.

Only identities are signalled, never numbers: a reused number is a stranger's.
"""

import signal
from typing import Final

import anyio
from anyio import to_thread

from tenure.machine import Alive, ProcessIdentity, Sent, observe, signal_process
from tenure.machine.inheritor import lock_inheritors
from tenure.providers.local.reference import Allocation
from tenure.providers.local.witness import scan

SWEEPS_MAX: Final = 100
POLL_SECONDS: Final = 0.05


async def ask_agent(agent: ProcessIdentity, *, grace_seconds: float) -> None:
    """Send SIGTERM to a living agent, and wait for its end at most so long."""
    if not isinstance(observe(agent), Alive):
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
    if allocation.agent is not None:
        signal_process(allocation.agent, signal.SIGKILL)
    with anyio.move_on_after(seconds):
        while (await to_thread.run_sync(scan, mark, allocation.since_ticks)).found:  # noqa: ASYNC110
            await anyio.sleep(POLL_SECONDS)


async def kill_everything(mark: str, allocation: Allocation) -> None:
    """Kill whoever carries the mark or inherited the lock, until nobody is left to be killed.

    Bounded: what multiplies faster than it is killed, or cannot be killed, is left for the next
    call; the caller looks afterwards and says so.

    Raises:
        OSError: the host cannot be read.
    """
    for _ in range(SWEEPS_MAX):
        if not await to_thread.run_sync(_sweep, mark, allocation):
            return
        await anyio.sleep(POLL_SECONDS)


def _sweep(mark: str, allocation: Allocation) -> bool:
    targets = set(scan(mark, allocation.since_ticks).found)
    if allocation.lock is not None:
        targets |= set(lock_inheritors(allocation.lock))
    if allocation.agent is not None and isinstance(observe(allocation.agent), Alive):
        targets.add(allocation.agent)
    if allocation.keeper is not None:
        targets.add(allocation.keeper.process)
        if allocation.keeper.isolation != "namespace":
            # It alone can reach who shed both mark and lock, and ends when all of them have.
            targets.discard(allocation.keeper.process)
    # All are stopped before the first is killed, so that none can start a successor meanwhile.
    for target in targets:
        signal_process(target, signal.SIGSTOP)
    killed = [signal_process(target, signal.SIGKILL) for target in targets]
    return any(isinstance(answer, Sent) for answer in killed)
