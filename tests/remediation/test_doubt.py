"""Whatever a provider raises or answers is an observation, and what it says is not written down."""

from collections.abc import Callable
from typing import Any

import anyio
import pytest
from msgspec.structs import replace
from tests.contract.values import Loose
from tests.remediation import world as faults
from tests.remediation.scene import IMPATIENT, LEASE_MS, Scene, spooled, submission
from tests.remediation.world import NOTHING_CERTAIN, SECRET

from tenure.errors import ProviderError
from tenure.model.allocation import ProviderAllocationRef
from tenure.ports import provider as port

FOREIGN_REF = ProviderAllocationRef(provider_id="rival", provider_data={"token": SECRET})
HUGE_REF = ProviderAllocationRef(provider_id="cloud", provider_data={"blob": SECRET * 100_000})
UNSAFE_REF = ProviderAllocationRef(provider_id="cloud", provider_data={SECRET: float("nan")})

REFS = {
    "foreign": FOREIGN_REF,
    "huge": HUGE_REF,
    "unsafe": UNSAFE_REF,
    "none": None,
    "text": SECRET,
}


async def _own_error(act: faults.Act) -> Loose:
    await act()
    raise ProviderError(provider_id="cloud", seen=SECRET, advice=SECRET)


async def _group(act: faults.Act) -> Loose:
    await act()
    raise ExceptionGroup(SECRET, [ValueError(SECRET)])


DOUBTS = {
    **NOTHING_CERTAIN,
    "it raises an error of ours": _own_error,
    "it raises a group": _group,
}
ANSWERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "gone": ("inspect", lambda e: port.Gone(evidence=e)),
    "undetermined": ("inspect", lambda e: port.Undetermined(evidence=e)),
    "worker dead": ("inspect", lambda e: port.Running(evidence=e, worker="dead")),
    "absent": ("discover", lambda e: port.ProvenAbsent(evidence=e)),
    "ended": ("terminate", lambda e: port.Gone(evidence=e)),
}
CALLS = ["discover", "inspect", "terminate", "spooled_outcome", "acknowledge_outcome"]


def malformed(scene: Scene) -> dict[str, Any]:
    """Make evidence that breaks the contract, of each kind."""
    good = scene.world.evidence("fine")
    return {
        "none": None,
        "text": SECRET,
        "empty": replace(good, summary=""),
        "long": replace(good, summary=SECRET * 1_000),
        "no instant": replace(good, observed_at=SECRET),
        "numeric": replace(good, code=7),
    }


async def prepare(scene: Scene, call: str) -> None:
    """Bring ``e`` to where a pass makes this call."""
    if call == "discover":
        scene.world.script("provision", faults.lost_reply)
    await scene.dispatched()
    if call == "terminate":
        await scene.cancel()
    if call in ("spooled_outcome", "acknowledge_outcome"):
        (machine,) = scene.world.existing()
        machine.exists = False
        if call == "acknowledge_outcome":
            scene.world.spools[machine.mark] = spooled(machine)


@pytest.mark.parametrize("name", DOUBTS)
async def test_create_in_doubt_is_called_once_and_found_out(scene: Scene, name: str) -> None:
    scene.world.script("provision", DOUBTS[name])
    work = await scene.dispatched()
    assert (work.obligation, work.failure_count) == ("provisioning-resolution", 1)
    assert await scene.codes() == ["provider-call-unresolved", "stopped-waiting"]
    for _ in range(3):
        await scene.authority("again").dispatch(execution_id="e")
    await scene.cancel()
    await scene.converge()
    assert scene.world.count("provision") == 1
    await scene.check_rest()


@pytest.mark.parametrize("name", DOUBTS)
@pytest.mark.parametrize("call", CALLS[:3])
async def test_look_in_doubt_is_recorded_and_ends_well_later(
    scene: Scene, call: str, name: str
) -> None:
    await prepare(scene, call)
    scene.world.script(call, *[DOUBTS[name]] * 2)
    before = (await scene.work()).failure_count
    for count in range(2):
        report = await scene.act()
        if call == "terminate" and count == 1:
            break  # what it did is seen now
        assert report.ending == "doubtful"
        assert (await scene.work()).failure_count == before + count + 1
        assert (await scene.codes())[-1] == "provider-error"
        scene.clock.advance(300_000)
    await scene.cancel()
    await scene.converge()
    await scene.check_rest()


@pytest.mark.parametrize("name", sorted(set(DOUBTS) - {"it answers None"}))
async def test_spool_in_doubt_holds_the_end_back_until_it_is_read(scene: Scene, name: str) -> None:
    await prepare(scene, "spooled_outcome")
    (machine,) = scene.world.machines
    scene.world.spools[machine.mark] = spooled(machine)
    scene.world.always["spooled_outcome"] = DOUBTS[name]
    for _ in range(3):
        assert (await scene.act()).ending == "doubtful"
        assert (await scene.codes())[-1] == "spool-unreadable"
        scene.clock.advance(300_000)
    scene.world.always.clear()
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "outcome"
    await scene.check_rest()


@pytest.mark.parametrize("name", DOUBTS)
async def test_acknowledgement_in_doubt_stops_nothing(scene: Scene, name: str) -> None:
    await prepare(scene, "acknowledge_outcome")
    scene.world.always["acknowledge_outcome"] = DOUBTS[name]
    assert (await scene.act()).ending == "closed"
    assert await scene.settled() == "outcome"
    await scene.check_rest()


@pytest.mark.parametrize("call", ["provision", *CALLS[:3]])
async def test_call_that_never_answers_is_given_up_at_its_deadline(scene: Scene, call: str) -> None:
    if call == "provision":
        scene.world.script(call, faults.hanging)
        authority = scene.authority(settings=IMPATIENT)
        await authority.submit(execution_id="e", submission=submission())
        assert await authority.dispatch(execution_id="e") is not None
        assert await scene.owed() == ["provisioning-resolution"]
        scene.clock.advance(LEASE_MS)
    else:
        await prepare(scene, call)
        scene.world.script(call, faults.hanging)
        controller = scene.controller(settings=IMPATIENT)
        assert (await scene.act(controller)).ending == "doubtful"
    told = [e.evidence.summary for e in await scene.journal() if e.evidence is not None]
    assert told[-1] == "the call raised TimeoutError"
    await scene.cancel()
    await scene.converge()
    await scene.check_rest()


async def test_provider_that_raises_before_its_first_await_leaves_a_doubt(scene: Scene) -> None:
    def provision(request: port.ProvisionRequest) -> Loose:
        raise RuntimeError(SECRET, request)

    scene.world.provision = provision  # type: ignore[method-assign]  # as a third party may write it
    work = await scene.dispatched()
    assert work.failure_count == 1

    def discover(**_: Loose) -> Loose:
        raise RuntimeError(SECRET)

    scene.world.discover = discover  # type: ignore[method-assign]  # as a third party may write it
    assert (await scene.act()).ending == "doubtful"
    assert (await scene.work()).failure_count == 2


async def test_wrong_kind_of_answer_is_a_doubt(scene: Scene) -> None:
    await scene.dispatched()
    evidence = scene.world.evidence("of a search")
    for answer in (
        port.ProvenAbsent(evidence=evidence),
        port.FoundSeveral(allocation_refs=[], evidence=evidence),
        port.Allocated(allocation_ref=scene.world.machines[0].ref),
    ):
        scene.world.script("inspect", faults.answering(answer))
        assert (await scene.act()).ending == "doubtful"
        assert (await scene.codes())[-1] == "provider-error"
    assert await scene.owed() == ["allocation-control"]


async def test_search_that_answers_like_an_inspection_is_a_doubt(scene: Scene) -> None:
    scene.world.script("provision", faults.refused)
    await scene.dispatched()
    evidence = scene.world.evidence("of an inspection")
    for answer in (
        port.Gone(evidence=evidence),
        port.Running(evidence=evidence, worker="dead"),
        port.ConfirmedAbsent(evidence=evidence),
    ):
        scene.world.script("discover", faults.answering(answer))
        assert (await scene.act()).ending == "doubtful"
    assert await scene.owed() == ["provisioning-resolution"]


@pytest.mark.parametrize("kind", ["none", "text", "empty", "long", "no instant", "numeric"])
@pytest.mark.parametrize("answer", ANSWERS)
async def test_scenario_g7_malformed_evidence_of_a_provider_proves_nothing(
    scene: Scene, answer: str, kind: str
) -> None:
    call, make = ANSWERS[answer]
    await prepare(scene, call)
    before = await scene.owed()
    scene.world.script(call, faults.answering(make(malformed(scene)[kind])))
    assert (await scene.act()).ending == "doubtful"
    assert (await scene.codes())[-1] == "malformed-answer"
    assert await scene.owed() == before
    await scene.cancel()
    await scene.converge()
    await scene.check_rest()


@pytest.mark.parametrize("ref", REFS.values(), ids=REFS)
async def test_scenario_g7_reference_that_the_ledger_refuses_is_a_doubt(
    scene: Scene, ref: Loose
) -> None:
    allocated = port.Allocated(allocation_ref=ref)
    scene.world.script("provision", faults.acting_then_answering(allocated))
    work = await scene.dispatched()
    assert (work.obligation, work.failure_count) == ("provisioning-resolution", 1)
    found = port.Found(allocation_ref=ref, evidence=scene.world.evidence("one"))
    scene.world.script("discover", faults.answering(found))
    assert (await scene.act()).ending == "doubtful"
    assert (await scene.codes())[-1] == "malformed-answer"
    assert (await scene.work()).owner_id is None
    await scene.cancel()
    await scene.converge()
    await scene.check_rest()


async def test_absence_with_malformed_evidence_is_a_doubt_of_the_call(scene: Scene) -> None:
    absent = port.ConfirmedAbsent(evidence=malformed(scene)["text"])
    scene.world.script("provision", faults.answering(absent))
    work = await scene.dispatched()
    assert (work.obligation, work.failure_count) == ("provisioning-resolution", 1)
    await scene.converge()
    await scene.check_rest()


async def test_cancellation_that_leaks_out_of_a_provider_ends_nobody_elses_work(
    scene: Scene,
) -> None:
    authority = scene.authority()
    for number in range(20):
        await authority.submit(execution_id=f"e{number}", submission=submission())
        dispatch = await authority.dispatch(execution_id=f"e{number}")
        assert dispatch is not None
        await authority.hand_off(dispatch, reason="test")
    scene.world.script("inspect", faults.cancelled_inside)
    reports = await scene.run()
    endings = [report.ending for report in reports]
    assert (endings.count("doubtful"), endings.count("kept")) == (1, 19)


async def test_own_cancellation_is_told_from_a_leaked_one(scene: Scene) -> None:
    await scene.dispatched()
    scene.world.script("inspect", faults.hanging)
    controller = scene.controller()
    with anyio.CancelScope() as scope:

        async def stop(call: faults.Call) -> None:
            if call.kind == "inspect":
                scope.cancel()

        scene.world.on_call = stop
        await controller.run_pass(due_only=False)
        pytest.fail("it was not cancelled")
    scene.world.on_call = None
    work = await scene.work()
    assert (work.owner_id, work.failure_count) == (None, 0)
    assert (await scene.codes())[-1] == "stopped"
    assert (await scene.act()).ending == "kept"
