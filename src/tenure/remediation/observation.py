"""Observing open work through its provider, as one word of the plan with its evidence.

Whatever a provider raises is an observation like any other: undetermined. Only the kind of the
exception goes into evidence, never its text, which may hold a secret.
"""

from collections.abc import Awaitable
from datetime import datetime, timedelta
from typing import Final, TypeVar

import anyio
import msgspec

from tenure.errors import TenureError
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.evidence import (
    EXHAUSTIVE_SEARCH_UNAVAILABLE,
    BoundedRecoveryEvidence,
    make_evidence,
)
from tenure.model.open_work import OpenWork
from tenure.ports.provider import (
    Discovery,
    Found,
    FoundSeveral,
    Gone,
    Inspection,
    ProvenAbsent,
    Provider,
    ProviderRecovery,
    Running,
    Undetermined,
)
from tenure.remediation.plan import Observed

SOURCE: Final = "tenure.controller"
AnswerT = TypeVar("AnswerT")


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen."""

    observed: Observed
    evidence: BoundedRecoveryEvidence | None
    found: ProviderAllocationRef | None = None
    """The reference that a search found."""


async def look(work: OpenWork, provider: Provider, *, now: datetime, call_seconds: float) -> Sight:
    """Look at one piece of open work. Never raises for anything that the provider does."""
    if work.obligation == "terminal-convergence":
        return Sight(observed="nothing", evidence=None)
    recovery = provider.recovery
    if recovery is None:
        return _undetermined(
            now,
            "the provider cannot search for its allocations",
            code=EXHAUSTIVE_SEARCH_UNAVAILABLE,
        )
    if not work.references:
        answer = await bounded_call(recovery.discover(mark=work.mark), call_seconds)
        return _discovered(answer, now)
    return await _inspect_all(work, recovery, now=now, call_seconds=call_seconds)


async def end(
    work: OpenWork, recovery: ProviderRecovery, *, now: datetime, call_seconds: float
) -> Sight:
    """Ask for the end of every known allocation, and say what is seen then."""
    sights = []
    for ref in work.references:
        call = recovery.terminate(mark=work.mark, allocation_ref=ref)
        sights.append(_inspected(await bounded_call(call, call_seconds), now))
    return _least_gone(sights)


async def bounded_call(call: Awaitable[AnswerT], seconds: float) -> AnswerT | Exception:
    """Await a provider's call within a hard deadline; what it raises becomes a value."""
    try:
        with anyio.fail_after(seconds):
            return await call
    except Exception as exc:  # noqa: BLE001 - a provider may raise anything; all of it is doubt
        return exc


def describe_failure(exc: object) -> str:
    """Describe what a provider raised, without its text unless that is our own.

    Anything else than an exception is an answer of no known type.
    """
    if not isinstance(exc, Exception):
        return f"the call answered with a value of type {type(exc).__name__}"
    if isinstance(exc, TenureError):
        return f"the call raised {type(exc).__name__}: {exc}"
    if isinstance(exc, OSError) and exc.errno is not None:
        return f"the call raised {type(exc).__name__} (errno {exc.errno})"
    return f"the call raised {type(exc).__name__}"


async def _inspect_all(
    work: OpenWork, recovery: ProviderRecovery, *, now: datetime, call_seconds: float
) -> Sight:
    sights = []
    for ref in work.references:
        call = recovery.inspect(mark=work.mark, allocation_ref=ref)
        sights.append(_inspected(await bounded_call(call, call_seconds), now))
    return _least_gone(sights)


def _least_gone(sights: list[Sight]) -> Sight:
    """Of several allocations, tell the one that is furthest from being gone."""
    order: tuple[Observed, ...] = ("alive", "worker-dead", "undetermined", "gone")
    return min(sights, key=lambda sight: order.index(sight.observed))


def _inspected(answer: Inspection | Exception, now: datetime) -> Sight:
    match answer:
        case Running(worker="dead"):
            return Sight(observed="worker-dead", evidence=answer.evidence)
        case Running():
            return Sight(observed="alive", evidence=answer.evidence)
        case Gone():
            return Sight(observed="gone", evidence=answer.evidence)
        case Undetermined():
            return Sight(observed="undetermined", evidence=answer.evidence)
        case _:
            return _failed(answer, now)


def _discovered(answer: Discovery | Exception, now: datetime) -> Sight:
    match answer:
        case Found():
            return Sight(observed="found", evidence=answer.evidence, found=answer.allocation_ref)
        case FoundSeveral():
            return Sight(observed="several", evidence=answer.evidence)
        case ProvenAbsent():
            return Sight(observed="absent", evidence=answer.evidence)
        case Undetermined():
            return Sight(observed="undetermined", evidence=answer.evidence)
        case _:
            return _failed(answer, now)


def _failed(answer: object, now: datetime) -> Sight:
    return _undetermined(now, describe_failure(answer), code="provider-error")


def _undetermined(now: datetime, summary: str, *, code: str) -> Sight:
    evidence = make_evidence(source=SOURCE, summary=summary, observed_at=now, code=code)
    return Sight(observed="undetermined", evidence=evidence)


def doubt_delay(failure_count: int, *, first: float, longest: float) -> timedelta:
    """How long to wait after the n-th doubt: doubled each time, capped."""
    doublings = min(max(failure_count - 1, 0), 30)
    return timedelta(seconds=min(first * 2**doublings, longest))
