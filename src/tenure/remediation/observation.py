"""Observing open work through its provider, as one word of the plan with its evidence.

Whatever a provider raises, and whatever answer cannot be understood, is an observation like any
other: undetermined. An answer that nothing is there counts only past the provider's read lag.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Final

import msgspec

from tenure.errors import InvalidInputError
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.evidence import (
    EXHAUSTIVE_SEARCH_UNAVAILABLE,
    BoundedRecoveryEvidence,
    check_evidence,
    make_evidence,
)
from tenure.model.open_work import OpenWork
from tenure.ports.provider import (
    Found,
    FoundSeveral,
    Gone,
    ProvenAbsent,
    Provider,
    ProviderRecovery,
    Running,
    Undetermined,
)
from tenure.remediation.calls import Caller, describe_failure
from tenure.remediation.plan import Observed

SOURCE: Final = "tenure.controller"
PROVIDER_ERROR: Final = "provider-error"
MALFORMED_ANSWER: Final = "malformed-answer"
WITHIN_READ_LAG: Final = "within-read-lag"
TERMINATION_PENDING: Final = "termination-pending"
PROVISIONER_LOST: Final = "provisioner-incarnation-lost"
_DISCOVERY: Final[Mapping[type, Observed]] = {
    Found: "found",
    FoundSeveral: "several",
    ProvenAbsent: "absent",
    Undetermined: "undetermined",
}
_INSPECTION: Final[Mapping[type, Observed]] = {
    Running: "alive",
    Gone: "gone",
    Undetermined: "undetermined",
}
"""What each answer means; a running allocation whose worker is dead is told apart."""


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen."""

    observed: Observed
    evidence: BoundedRecoveryEvidence | None
    found: ProviderAllocationRef | None = None
    """The reference that a search found."""

    @property
    def summary(self) -> str:
        """One line for people."""
        return "nothing to look at" if self.evidence is None else self.evidence.summary


async def look(work: OpenWork, provider: Provider, caller: Caller, *, now: datetime) -> Sight:
    """Look at one piece of open work. Never raises for anything that the provider does.

    Raises:
        ClaimLost: the claim no longer holds.
    """
    if work.obligation == "terminal-convergence":
        return Sight(observed="nothing", evidence=None)
    recovery = provider.recovery
    if recovery is None:
        seen = "the provider cannot search for its allocations"
        return undetermined(now, seen, code=EXHAUSTIVE_SEARCH_UNAVAILABLE)
    if work.references:
        sight = await _inspect_all(work, recovery, caller, now=now)
    else:
        answer = await caller.call(
            lambda: recovery.discover(mark=work.mark, begun_at=work.begun_at)
        )
        sight = _understood(answer, _DISCOVERY, now)
    return _past_read_lag(sight, work, provider, caller, now=now)


async def look_after_death(
    work: OpenWork, provider: Provider, caller: Caller, *, now: datetime, death: str
) -> Sight:
    """Look at work that is bound to a provisioner that is proven dead, for the reason ``death``.

    ``lost`` when no allocation was recorded and nothing of one is left; ``gone`` when one was: then
    the death is evidence of its termination. Anything that is still there is told as it is.

    Raises:
        ClaimLost: the claim no longer holds.
    """
    sight = await look(work, provider, caller, now=now)
    if sight.found is not None and provider.recovery is not None:
        call = partial(provider.recovery.inspect, mark=work.mark, allocation_ref=sight.found)
        seen = _understood(await caller.call(call), _INSPECTION, now)
        if seen.observed != "gone":
            return sight
        sight = Sight(observed="absent", evidence=seen.evidence)
    if sight.observed not in ("absent", "gone"):
        return sight
    evidence = make_evidence(
        source=SOURCE,
        summary=f"its provisioner is dead ({death}), and {sight.summary}",
        observed_at=now,
        code=PROVISIONER_LOST,
    )
    return Sight(observed="lost" if sight.observed == "absent" else "gone", evidence=evidence)


async def end(work: OpenWork, provider: Provider, caller: Caller, *, now: datetime) -> Sight:
    """Ask for the end of every known allocation, and say what is seen then.

    ``gone`` only when each was seen to be gone; anything else is undetermined.

    Raises:
        ClaimLost: the claim no longer holds.
    """
    recovery = provider.recovery
    assert recovery is not None  # something of it was seen
    sights = []
    for ref in work.references:
        call = partial(recovery.terminate, mark=work.mark, allocation_ref=ref)
        sights.append(_understood(await caller.call(call), _INSPECTION, now))
    sight = _least_gone(sights)
    if sight.observed in ("alive", "worker-dead"):
        seen = f"termination was requested, the allocation is still there: {sight.summary}"
        return undetermined(now, seen, code=TERMINATION_PENDING)
    return _past_read_lag(sight, work, provider, caller, now=now)


def undetermined(now: datetime, summary: str, *, code: str) -> Sight:
    """Make the sight of a doubt of our own."""
    evidence = make_evidence(source=SOURCE, summary=summary, observed_at=now, code=code)
    return Sight(observed="undetermined", evidence=evidence)


def doubt_delay(failure_count: int, *, first: float, longest: float) -> timedelta:
    """How long to wait after the n-th doubt: doubled each time, capped."""
    doublings = min(max(failure_count - 1, 0), 30)
    return timedelta(seconds=min(first * 2**doublings, longest))


async def _inspect_all(
    work: OpenWork, recovery: ProviderRecovery, caller: Caller, *, now: datetime
) -> Sight:
    sights = []
    for ref in work.references:
        call = partial(recovery.inspect, mark=work.mark, allocation_ref=ref)
        sights.append(_understood(await caller.call(call), _INSPECTION, now))
    return _least_gone(sights)


def _least_gone(sights: Sequence[Sight]) -> Sight:
    """Of several allocations, tell the one that is furthest from being gone."""
    order: tuple[Observed, ...] = ("alive", "worker-dead", "undetermined", "gone")
    return min(sights, key=lambda sight: order.index(sight.observed))


def _understood(answer: object, kinds: Mapping[type, Observed], now: datetime) -> Sight:
    observed = kinds.get(type(answer))
    if observed is None:
        return undetermined(now, describe_failure(answer), code=PROVIDER_ERROR)
    evidence, found = getattr(answer, "evidence", None), None
    try:
        check_evidence(evidence, field="evidence")
    except InvalidInputError:
        seen = f"the answer {type(answer).__name__} came with malformed evidence"
        return undetermined(now, seen, code=MALFORMED_ANSWER)
    if isinstance(answer, Running) and answer.worker == "dead":
        observed = "worker-dead"
    if isinstance(answer, Found):
        found = answer.allocation_ref
        if type(found) is not ProviderAllocationRef:
            seen = "the answer Found came without a reference"
            return undetermined(now, seen, code=MALFORMED_ANSWER)
    return Sight(observed=observed, evidence=evidence, found=found)


def _past_read_lag(
    sight: Sight, work: OpenWork, provider: Provider, caller: Caller, *, now: datetime
) -> Sight:
    """Doubt that nothing is there while reads may still miss what the call made.

    It may have been accepted until its deadline, and reads lag behind that.
    """
    lag_ms = provider.traits.read_lag_ms
    certain_at = work.begun_at + timedelta(seconds=caller.seconds, milliseconds=lag_ms)
    if sight.observed not in ("absent", "gone") or lag_ms == 0 or now >= certain_at:
        return sight
    seen = f"too early to tell, reads lag by {lag_ms} ms: {sight.summary}"
    return undetermined(now, seen, code=WITHIN_READ_LAG)
