"""What every provider of this machine does: one agent for each attempt, in its folder, once."""

import contextlib
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import ClassVar, Final

import msgspec
from anyio import to_thread

from tenure.errors import InvalidInputError, ProviderError
from tenure.machine import HeldLock, boottime_ms, read_host
from tenure.machine.host import INITIAL_PID_NAMESPACE
from tenure.model.allocation import AllocationLifetime
from tenure.model.evidence import PRE_REQUEST_REJECTION, make_evidence
from tenure.model.json_value import JsonObject
from tenure.ports.provider import (
    Allocated,
    ConfirmedAbsent,
    OutputPage,
    ProviderRecovery,
    ProviderTraits,
    ProvisionAnswer,
    ProvisionRequest,
)
from tenure.providers.local.folder import AttemptFolder
from tenure.providers.local.launch import Children, Launcher, NotLaunchedError
from tenure.providers.local.recovery import LocalRecovery
from tenure.providers.local.reference import Allocation, Form
from tenure.wire import attempt_folder
from tenure.wire.attempt_folder import (
    AttemptRequest,
    Deadline,
    Instruction,
    LockIdentity,
    instruction_from_json,
)

GRACE_SECONDS: Final = 7.0
"""After SIGTERM: the agent's own grace of 5 s for the command, and 2 s to deliver."""
_MILLISECOND: Final = timedelta(milliseconds=1)


class _Refusal(msgspec.Struct, frozen=True):
    """Nothing was started, and this call starts nothing any more."""

    reason: str


class _Order(msgspec.Struct, frozen=True, kw_only=True):
    """What to start, checked, and by when."""

    request: ProvisionRequest
    instruction: Instruction
    deadline: Deadline | None
    call_ends_boot_ms: int
    """The host's boot-time clock at the end of the call."""

    @property
    def remaining_seconds(self) -> float:
        """What is left of the call."""
        return (self.call_ends_boot_ms - boottime_ms()) / 1000


class LocalProvider:
    """Agents on this machine, each with a folder and a lock; how they start is the subclass's.

    Linux only, on a local file system. All methods may be called concurrently.
    """

    provider_id: ClassVar[str]

    def __init__(
        self,
        *,
        form: Form,
        lifetime: AllocationLifetime,
        launcher: Launcher,
        children: Children,
        root: Path,
        now: Callable[[], Awaitable[datetime]],
        grace_seconds: float,
    ) -> None:
        """Take where the attempt folders are, the ledger's clock, and who starts agents.

        Args:
            form: how references are written, and the provider's name.
            lifetime: what agents are bound to.
            launcher: starts them.
            children: where the launcher leaves them to be reaped.
            root: made private (0700) at the first call.
            now: the ledger's time, as `ledger.now`.
            grace_seconds: how long a termination waits for the agent before it kills.

        Raises:
            ProviderError: this machine cannot say who it is.
        """
        try:
            reach = _reach()
        except OSError as exc:
            advice = "it needs Linux with its own /proc"
            raise ProviderError(provider_id=form.provider_id, seen=str(exc), advice=advice) from exc
        self.traits = ProviderTraits(allocation_lifetime=lifetime, reach=reach)
        self._form = form
        self._launcher = launcher
        self._root = root.absolute()
        self._now = now
        self._children = children
        self.recovery: ProviderRecovery | None = LocalRecovery(
            form=form, root=self._root, now=now, children=children, grace_seconds=grace_seconds
        )

    def check_instruction(self, instruction: JsonObject) -> None:
        """Check that it is a command, a folder and nothing else.

        Raises:
            InvalidInputError: it is not.
        """
        instruction_from_json(instruction, field="instruction")

    async def provision(self, request: ProvisionRequest) -> ProvisionAnswer:
        """Start the agent, under the attempt's lock, unless a tombstone refuses it.

        Whoever stops this call anywhere leaves the lock held or the folder telling what happened.

        Raises:
            ProviderError: another call of the same mark exists, or may.
            OSError: it is not known whether the agent started.
        """
        boot_ms = boottime_ms()  # before the clock, so that a slow answer makes deadlines earlier
        now = await self._now()
        try:
            order = _order(request, now=now, boot_ms=boot_ms)
        except InvalidInputError as exc:
            return self._absent(_Refusal(str(exc)), now)
        self._children.reap()
        answer = await to_thread.run_sync(self._provision, order)
        if isinstance(answer, _Refusal):
            return self._absent(answer, now)
        return Allocated(allocation_ref=self._form.render(answer))

    async def read_output(self, *, mark: str, offset: int, limit: int) -> OutputPage | None:
        """Read a piece of the command's output.

        Raises:
            OSError: it is there and cannot be read.
        """
        folder = AttemptFolder(self._root, mark)
        data = await to_thread.run_sync(lambda: folder.read_output(offset=offset, limit=limit))
        return None if data is None else OutputPage(data=data, next_offset=offset + len(data))

    def _provision(self, order: _Order) -> Allocation | _Refusal:
        folder = AttemptFolder(self._root, order.request.mark)
        try:
            folder.make()
            lock = folder.lock()
        except OSError as exc:
            if folder.has(attempt_folder.LOCK_FILE):
                raise
            return _Refusal(f"no folder for the attempt: {exc}")
        if lock is None:
            raise self._rival(seen="the attempt's lock is held by somebody else")
        with lock:
            if folder.has(attempt_folder.TOMBSTONE_FILE):
                return _Refusal("tombstone: this attempt was proven absent before this call")
            for name in (attempt_folder.REQUEST_FILE, attempt_folder.AGENT_FILE):
                if folder.has(name):
                    raise self._rival(seen=f"the attempt's folder has a {name} already")
            return self._start(folder, lock, order)

    def _start(self, folder: AttemptFolder, lock: HeldLock, order: _Order) -> Allocation | _Refusal:
        try:
            folder.write_request(_request(order, lock))
        except OSError as exc:
            return _refuse(folder, f"the request could not be written: {exc}")
        if order.remaining_seconds <= 0:
            return _refuse(folder, "the call's deadline came before the agent was started")
        try:
            return self._launcher.launch(folder, lock, seconds=order.remaining_seconds)
        except NotLaunchedError as exc:
            return self._refuse_unstarted(folder, lock, f"the agent could not be started: {exc}")

    def _refuse_unstarted(self, folder: AttemptFolder, lock: HeldLock, reason: str) -> _Refusal:
        # A child that was made after all holds the lock: if it can be had again, there is none.
        lock.release()
        again = folder.lock()
        if again is None:
            raise self._rival(seen=f"{reason}; yet something holds the attempt's lock")
        with again:
            if folder.has(attempt_folder.AGENT_FILE):
                raise self._rival(seen=f"{reason}; yet an agent was there")
            return _refuse(folder, reason)

    def _absent(self, refusal: _Refusal, now: datetime) -> ConfirmedAbsent:
        return ConfirmedAbsent(
            evidence=make_evidence(
                source=self._form.provider_id,
                summary=refusal.reason,
                observed_at=now,
                code=PRE_REQUEST_REJECTION,
            )
        )

    def _rival(self, *, seen: str) -> ProviderError:
        advice = "nothing was started by this call; discovery finds out what exists"
        return ProviderError(provider_id=self._form.provider_id, seen=seen, advice=advice)


def _order(request: ProvisionRequest, *, now: datetime, boot_ms: int) -> _Order:
    deadline = None
    if request.deadline_at is not None:
        deadline = Deadline(
            begun_boot_ms=boot_ms,
            remaining_ms=max(0, (request.deadline_at - now) // _MILLISECOND),
            timeout_ms=max(0, (request.deadline_at - request.begun_at) // _MILLISECOND),
        )
    return _Order(
        request=request,
        instruction=instruction_from_json(request.instruction, field="instruction"),
        deadline=deadline,
        call_ends_boot_ms=boot_ms + (request.call_deadline_at - now) // _MILLISECOND,
    )


def _request(order: _Order, lock: HeldLock) -> AttemptRequest:
    request = order.request
    return AttemptRequest(
        execution_id=request.execution_id,
        execution_attempt_id=request.execution_attempt_id,
        workflow_id=request.workflow_id,
        mark=request.mark,
        ledger_url=request.ledger_url,
        instruction=order.instruction,
        deadline=order.deadline,
        lock=LockIdentity(device=lock.inode.device, inode=lock.inode.inode),
    )


def _refuse(folder: AttemptFolder, reason: str) -> _Refusal:
    with contextlib.suppress(OSError):  # this call is over in any case
        folder.write_tombstone(reason)
    return _Refusal(reason)


def _reach() -> str:
    # Containers often share a machine id that was baked into their image, and each sees only its
    # own processes and folders: there, the reach is this one start of this one container.
    host = read_host()
    if host.pid_namespace == INITIAL_PID_NAMESPACE:
        return host.machine_id
    return f"{host.machine_id}:{host.boot_id}:{host.pid_namespace}"
