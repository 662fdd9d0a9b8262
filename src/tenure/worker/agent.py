"""One attempt on this machine, from the request in its folder to the ledger's answer.

In this order, each step durable before the next: the agent's identity, the command, the outcome in
the spool, the commit, the spool's removal. It runs its command only while it holds the lock that it
inherited on the very file of the folder, finds no tombstone, and is the folder's first agent.
"""

import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tenure.machine.durable import write_durably
from tenure.machine.lock import is_held
from tenure.machine.process import ProcessIdentity, identify
from tenure.model.result import CancelledResult, WorkflowRunResult
from tenure.wire import attempt_folder
from tenure.wire.attempt_folder import AttemptRequest, decode_request
from tenure.wire.spool import SpoolContent, encode_spool
from tenure.worker.log import log
from tenure.worker.orphan import reaping_orphans
from tenure.worker.stopping import taking_stop_requests
from tenure.worker.work import Work, run_work

if TYPE_CHECKING:  # an event loop is only loaded when there is something to deliver
    from tenure.worker.delivery import Addressee, OpenLedger

STOP_GRACE_SECONDS: Final = 5.0
"""Between asking the command to stop and killing it."""
DONE: Final = 0
UNDELIVERED: Final = 1
"""The outcome is in the spool."""
REFUSED: Final = 3
"""The folder is not this agent's to work in; nothing was run."""


def run_agent(
    *,
    environment: Mapping[str, str],
    open_ledger: "OpenLedger",
    identity: ProcessIdentity | None = None,
    stop_grace_seconds: float = STOP_GRACE_SECONDS,
) -> int:
    """Work on the attempt whose folder, lock and mark the environment names.

    Guarantees: the command is started at most once for a folder; its outcome is on disk before it
    is delivered, and stays there until the ledger has answered; a SIGTERM stops the command and
    delivers nothing unless a cancellation is durable; one that comes after the command has ended
    changes nothing about its outcome.

    Args:
        environment: the agent's own.
        open_ledger: opens the ledger when there is something to deliver.
        identity: the agent's name as those know it who look for it; by default the one that it
            has in its own PID namespace.
        stop_grace_seconds: between asking the command to stop and killing it.

    Returns:
        The exit code of the process: 0 done or quietly stopped, 1 the outcome is still in the
        spool, 3 refused before anything was run.
    """
    with taking_stop_requests() as stop, reaping_orphans() as orphans:
        try:
            work = _admit(environment, identity or _identify(), stop_grace_seconds)
        except (OSError, ValueError, KeyError) as exc:
            log(f"refused to start: {type(exc).__name__}: {exc}")
            return REFUSED
        result: WorkflowRunResult | None = run_work(work, stop, orphans)
        stops = stop.count if result is None else 0
        if result is None:
            result = _ask_result(work, open_ledger)
        if result is None:
            log("stopped without a request to cancel: nothing is delivered")
            return DONE
        return _report(work, result, open_ledger, lambda: stop.count > stops)


def _identify() -> ProcessIdentity:
    identity = identify(os.getpid())
    assert identity is not None  # whoever asks exists
    return identity


def _admit(
    environment: Mapping[str, str], identity: ProcessIdentity, stop_grace_seconds: float
) -> Work:
    folder = Path(environment[attempt_folder.FOLDER_VARIABLE])
    descriptor = int(environment[attempt_folder.LOCK_VARIABLE])
    lock = folder / attempt_folder.LOCK_FILE
    if not os.path.samestat(os.fstat(descriptor), lock.lstat()) or is_held(lock) is not True:
        message = f"the inherited lock is not that of {str(folder)!r}"
        raise ValueError(message)
    for name in (attempt_folder.TOMBSTONE_FILE, attempt_folder.AGENT_FILE):
        if os.path.lexists(folder / name):
            message = f"there is a {name} in {str(folder)!r}"
            raise ValueError(message)
    request = decode_request((folder / attempt_folder.REQUEST_FILE).read_bytes())
    if request.mark != environment[attempt_folder.MARK_VARIABLE]:
        message = f"the request in {str(folder)!r} is of another mark"
        raise ValueError(message)
    data = json.dumps(identity.to_json()).encode()
    write_durably(folder / attempt_folder.AGENT_FILE, data)
    return Work(
        folder=folder,
        lock_descriptor=descriptor,
        request=request,
        environment=environment,
        stop_grace_seconds=stop_grace_seconds,
    )


def _ask_result(work: Work, open_ledger: "OpenLedger") -> CancelledResult | None:
    import anyio  # noqa: PLC0415  (costs as much as the rest of the agent)

    from tenure.worker.delivery import ask_cancellation  # noqa: PLC0415

    request = work.request
    ask = partial(ask_cancellation, open_ledger=open_ledger)
    cancellation = anyio.run(ask, _addressee(request))
    if cancellation is None:
        return None
    return CancelledResult(
        execution_id=request.execution_id,
        workflow_id=request.workflow_id,
        reason=cancellation.reason or None,
    )


def _report(
    work: Work,
    result: WorkflowRunResult,
    open_ledger: "OpenLedger",
    is_stopped: Callable[[], bool],
) -> int:
    request = work.request
    content = SpoolContent(
        execution_id=request.execution_id,
        execution_attempt_id=request.execution_attempt_id,
        result=result,
    )
    spool = work.folder / attempt_folder.OUTCOME_FILE
    try:
        write_durably(spool, encode_spool(content))
    except OSError as exc:
        log(f"outcome not spooled, it is delivered from memory: {exc}")

    import anyio  # noqa: PLC0415  (only now that the command no longer runs)

    from tenure.worker.delivery import deliver  # noqa: PLC0415

    brought = partial(
        deliver,
        spool=spool,
        addressee=_addressee(request),
        open_ledger=open_ledger,
        is_stopped=is_stopped,
    )
    return DONE if anyio.run(brought, content) else UNDELIVERED


def _addressee(request: AttemptRequest) -> "Addressee":
    from tenure.worker.delivery import Addressee  # noqa: PLC0415

    return Addressee(
        execution_id=request.execution_id,
        execution_attempt_id=request.execution_attempt_id,
        mark=request.mark,
        ledger_url=request.ledger_url,
    )
