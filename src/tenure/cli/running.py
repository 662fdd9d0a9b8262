"""One execution that this command starts: begun, waited for, left, or stopped."""

import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Final, NoReturn, TypeVar

import anyio

from tenure.authority.authority import ExecutionEnd
from tenure.authority.dispatch import Dispatch
from tenure.cli.difference import describe_difference
from tenure.cli.exit_code import OK, SIGNAL_BASE, TENURE
from tenure.cli.failure import first_error
from tenure.cli.host import Host
from tenure.cli.names import name_requester
from tenure.cli.opening import hint
from tenure.cli.patience import UNAVAILABLE, patiently
from tenure.cli.reporting import report_end, report_running
from tenure.cli.signals import Signals
from tenure.cli.terminal import Terminal
from tenure.cli.view import document_of, exit_code_of, sight
from tenure.cli.waiting import Waiting
from tenure.cli.writing import put, put_json
from tenure.errors import InvalidInputError, ProviderError, StorageUnavailableError, TenureError
from tenure.model.execution import ExecutionSubmission

HAND_OFF_SECONDS: Final = 10.0
"""How long a claim is tried to be handed off; else its lease runs out by itself."""
LOOK_SECONDS: Final = 2.0
T = TypeVar("T")


class Running:
    """One execution of this process."""

    def __init__(
        self,
        host: Host,
        terminal: Terminal,
        signals: Signals,
        execution_id: str,
        *,
        is_bound: bool = False,
    ) -> None:
        """``is_bound``: what is started dies with this process, so that a signal has to end it."""
        self._host = host
        self._terminal = terminal
        self._signals = signals
        self._execution_id = execution_id
        self._is_bound = is_bound
        self._dispatch: Dispatch | None = None
        self._may_exist = False
        self._is_known = False
        self._is_new = True
        self._is_told = False

    async def run(
        self,
        start: Callable[[], Awaitable[None]],
        *,
        detach: bool,
        output: bool,
        json: bool,
        beside: Callable[[], Coroutine[None, None, None]] | None = None,
    ) -> int:
        """Start it, then wait for it or leave it; whatever fails, say what may be running.

        ``beside`` is done while what was started is held.

        Raises:
            StorageUnavailableError: the ledger could not be reached for too long.
        """
        try:
            await self._signals.run_until_second_signal(start)
            is_left = self._signals.caught is not None and not (self._is_bound and self._dispatch)
            if is_left or self._signals.caught_second:
                return await self._stop()
            if detach:
                if beside is not None:
                    await self._do_beside(beside)
                return await self._leave(json=json)
            return await self._wait(beside, output=output, json=json)
        except Exception as exc:
            if not self._may_exist:
                raise
            first = first_error(exc)
            if not isinstance(first, UNAVAILABLE):
                await self._say_it_goes_on("may be running")
                raise
            raise self._advised(first) from exc

    async def submit(self, submission: ExecutionSubmission) -> None:
        """Submit and dispatch: from here on the command runs, whatever becomes of us."""
        authority, execution_id = self._host.authority, self._execution_id
        self._may_exist = True
        try:
            execution = await self._patiently(
                lambda: authority.submit(execution_id=execution_id, submission=submission)
            )
        except (InvalidInputError, ProviderError) as exc:
            self._may_exist = False
            difference = await self._find_difference(exc, submission)
            if difference is None:
                raise
            raise InvalidInputError(
                field="--id",
                given=f"{execution_id!r}, which exists with another submission",
                allowed="a new id, or the same submission again; what differs is " + difference,
            ) from exc
        self._is_known = True
        self._is_new = execution.submitted_by == self._host.witness.current()
        self._dispatch = await self._patiently(
            lambda: authority.dispatch(execution_id=execution_id)
        )
        await self._terminal.say(f"{execution_id} {await self._describe_start()}")

    async def supersede(self) -> None:
        """Begin another attempt in place of the active one."""
        self._may_exist = self._is_known = self._is_told = True
        self._dispatch = await self._host.authority.supersede(execution_id=self._execution_id)

    async def _describe_start(self) -> str:
        url = self._host.ledger.url
        if self._dispatch is not None:
            return (
                f"started in {url}" if self._is_new else f"was submitted before; started in {url}"
            )
        if self._is_new:
            return f"submitted to {url}"
        if await self._find_end() is None:
            return f"exists already in {url}, and has not ended; it is not started again"
        return f"exists already in {url}, and has ended; it is not run again"

    async def _find_difference(
        self, exc: TenureError, submission: ExecutionSubmission
    ) -> str | None:
        """Say in what a submission differs, when that is why it was refused."""
        if not isinstance(exc, InvalidInputError) or exc.field != "execution_id":
            return None
        execution = await self._host.ledger.get_execution(execution_id=self._execution_id)
        if execution is None or execution.submission is None:
            return None
        return describe_difference(execution.submission, submission)

    async def _stop(self) -> int:
        """Leave after a signal that came while it was being started."""
        assert self._signals.caught is not None
        await self._hand_off(f"stopped by {self._signals.caught.name}", seconds=LOOK_SECONDS)
        if await self._exists():
            await self._say_it_goes_on("may be running")
        else:
            await self._terminal.say("nothing was started")
        return SIGNAL_BASE + self._signals.caught

    async def _exists(self) -> bool:
        """Whether it was submitted, or may have been."""
        if self._is_known or not self._may_exist:
            return self._may_exist
        with anyio.move_on_after(LOOK_SECONDS), contextlib.suppress(TenureError):
            ledger = self._host.ledger
            return await ledger.get_execution(execution_id=self._execution_id) is not None
        return True

    async def _leave(self, *, json: bool) -> int:
        """Let the claim go and say what was started."""
        end = await self._find_end()
        is_told = end is not None and (exit_code_of(end) == TENURE or not self._is_new)
        if end is not None and is_told:
            code = await report_end(
                self._terminal, self._host.ledger, end, json=json, has_leftovers=False
            )
            if code == TENURE:
                return TENURE
            if not json:
                put(self._execution_id)
            return OK
        await self._hand_off("left to run detached", seconds=HAND_OFF_SECONDS)
        await self._put_started(json=json)
        return OK

    async def _do_beside(self, beside: Callable[[], Coroutine[None, None, None]]) -> None:
        """Do something while what was started here is held, until a signal comes."""

        async def attend(dispatch: Dispatch) -> None:
            await self._patiently(lambda: self._host.authority.attend(dispatch))

        async with anyio.create_task_group() as group:
            if self._dispatch is not None:
                group.start_soon(attend, self._dispatch)
            await self._signals.run_until_signal(beside)
            group.cancel_scope.cancel()

    async def _wait(
        self, beside: Callable[[], Coroutine[None, None, None]] | None, *, output: bool, json: bool
    ) -> int:
        """Wait for the end, or for a signal."""
        waiting = Waiting(self._host, self._terminal, self._execution_id)

        async def wait() -> None:
            async with anyio.create_task_group() as group:
                if beside is not None:
                    group.start_soon(beside)
                await waiting.run(dispatch=self._dispatch, output=output and not json)

        if self._is_bound and self._dispatch is not None:
            await self._signals.run_until_second_signal(lambda: self._wait_bound(wait))
        else:
            await self._signals.run_until_signal(wait)
        code = OK
        if waiting.end is None:
            how = "ends with this process" if self._is_bound else "goes on"
            await self._say_it_goes_on(how)
        else:
            code = await report_end(
                self._terminal,
                self._host.ledger,
                waiting.end,
                json=json,
                has_leftovers=waiting.has_leftovers,
            )
        return code if self._signals.caught is None else SIGNAL_BASE + self._signals.caught

    async def _wait_bound(self, wait: Callable[[], Awaitable[None]]) -> None:
        """Wait for the end; the first signal asks for it durably."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._cancel_on_signal)
            await wait()
            group.cancel_scope.cancel()

    async def _cancel_on_signal(self) -> None:
        signum = await self._signals.wait_first()
        await self._terminal.say(
            f"{self._execution_id} is asked to end; once more ends it at once, with this process"
        )
        await self._patiently(
            lambda: self._host.ledger.request_cancellation(
                execution_id=self._execution_id,
                requested_by=name_requester(),
                reason=f"stopped by {signum.name}",
            )
        )

    async def _find_end(self) -> ExecutionEnd | None:
        find = self._host.authority.find_end
        return await self._patiently(lambda: find(execution_id=self._execution_id))

    async def _hand_off(self, reason: str, *, seconds: float) -> None:
        """Let the claim go; where that cannot be done in time, its lease runs out by itself."""
        dispatch = self._dispatch
        if dispatch is None:
            return
        with anyio.move_on_after(seconds), contextlib.suppress(TenureError):
            await patiently(
                lambda: self._host.authority.hand_off(dispatch, reason=reason),
                self._terminal.say,
                seconds=seconds,
            )

    async def _put_started(self, *, json: bool) -> None:
        ledger = self._host.ledger
        execution = await self._patiently(
            lambda: ledger.get_execution(execution_id=self._execution_id)
        )
        assert execution is not None
        sighting = await self._patiently(lambda: sight(ledger, execution))
        if sighting.state == "starting":
            doubt = hint("recover", None, url=ledger.url)
            await self._terminal.say(f"it is not known yet whether it started; see `{doubt}`")
        if json:
            put_json(document_of(ledger, sighting))
        elif not self._is_told:
            put(self._execution_id)

    async def _say_it_goes_on(self, how: str) -> None:
        await report_running(self._terminal, self._host.ledger, self._execution_id, how)

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        return await patiently(call, self._terminal.say)

    def _advised(self, exc: TenureError) -> StorageUnavailableError:
        """Say with the error what may be running: a bare "try again" would run it twice."""
        url = self._host.ledger.url
        wait, cancel = (hint(word, self._execution_id, url=url) for word in ("wait", "cancel"))
        return StorageUnavailableError(
            ledger=url,
            seen=getattr(exc, "seen", "too many calls wait already"),
            advice=f"{self._execution_id} may be running: `{wait}` waits for it, `{cancel}` ends"
            " it; do not start it again under another id",
        )


def is_process_bound(host: Host, provider_id: str) -> bool:
    """Whether what this provider starts ends with the process that started it."""
    if provider_id not in host.providers:
        return False  # which the submission will tell
    return host.providers[provider_id].traits.allocation_lifetime == "provisioner-process-bound"


def refuse_detaching(provider_id: str) -> NoReturn:
    """Refuse to leave what would end with this process.

    Raises:
        InvalidInputError: always.
    """
    raise InvalidInputError(
        field="--detach",
        given=f"with provider {provider_id!r}, whose work ends with this process",
        allowed="a provider whose work survives, as `detached`",
    )
