"""The plan: total over what can be observed, each cell stated, and never bolder than proof."""

import itertools
from typing import get_args

import pytest
from hypothesis import given, strategies as st

from tenure.remediation.plan import (
    PLAN,
    Action,
    Circumstances,
    Observed,
    Owed,
    Stop,
    plan,
)

STOPS: tuple[Stop | None, ...] = (None, *get_args(Stop))
CIRCUMSTANCES = [
    Circumstances(stop=stop, grace_is_over=over)
    for stop, over in itertools.product(STOPS, (False, True))
]
CALM = Circumstances(stop=None, grace_is_over=False)
SEARCHED = {"found", "several", "absent", "lost", "undetermined"}
INSPECTED = {"alive", "worker-dead", "gone", "undetermined"}
OBSERVABLE = {
    "provisioning-resolution": SEARCHED,
    "allocation-control": INSPECTED,
    "terminal-convergence": {"nothing"},
    "reclamation": SEARCHED | INSPECTED,
}
"""A search as long as no reference is known, an inspection after that."""
REFERENCED = INSPECTED - {"undetermined"}
"""What can only be observed of a known reference."""

CALM_CELLS: dict[tuple[Owed, Observed], Action] = {
    ("provisioning-resolution", "found"): "record-discovered",
    ("provisioning-resolution", "several"): "record-uncertainty",
    ("provisioning-resolution", "absent"): "record-absent",
    ("provisioning-resolution", "lost"): "record-lost",
    ("provisioning-resolution", "undetermined"): "record-uncertainty",
    ("allocation-control", "alive"): "keep",
    ("allocation-control", "worker-dead"): "terminate",
    ("allocation-control", "gone"): "record-terminated",
    ("allocation-control", "undetermined"): "record-uncertainty",
    ("terminal-convergence", "nothing"): "record-failure",
    ("reclamation", "found"): "record-reference",
    ("reclamation", "several"): "record-uncertainty",
    ("reclamation", "absent"): "close-absent",
    ("reclamation", "lost"): "close-lost",
    ("reclamation", "alive"): "keep",
    ("reclamation", "worker-dead"): "keep",
    ("reclamation", "gone"): "close-released",
    ("reclamation", "undetermined"): "record-uncertainty",
}
"""The whole table while nothing has to stop and no grace is over."""

cells = st.sampled_from(sorted(PLAN))
circumstances = st.sampled_from(CIRCUMSTANCES)


def test_plan_is_total_over_what_can_be_observed_under_each_obligation() -> None:
    assert set(PLAN) == {(owed, seen) for owed, all_seen in OBSERVABLE.items() for seen in all_seen}
    assert set(OBSERVABLE) == set(get_args(Owed))
    assert set().union(*OBSERVABLE.values()) == set(get_args(Observed))


@pytest.mark.parametrize(("cell", "action"), CALM_CELLS.items(), ids=str)
def test_cell_says_what_to_do(cell: tuple[Owed, Observed], action: Action) -> None:
    assert plan(*cell, CALM) == action


def test_every_cell_is_stated() -> None:
    assert set(CALM_CELLS) == set(PLAN)


@pytest.mark.parametrize("stop", get_args(Stop))
def test_running_allocation_that_has_to_stop_is_terminated(stop: Stop) -> None:
    stopped = Circumstances(stop=stop, grace_is_over=False)
    assert plan("allocation-control", "alive", stopped) == "terminate"


def test_allocation_that_outlives_its_outcome_is_terminated_after_the_grace() -> None:
    over = Circumstances(stop=None, grace_is_over=True)
    for seen in ("alive", "worker-dead"):
        assert plan("reclamation", seen, over) == "terminate"


@given(cells, circumstances)
def test_circumstances_decide_nothing_but_whether_a_running_allocation_ends(
    cell: tuple[Owed, Observed], given_circumstances: Circumstances
) -> None:
    action = plan(*cell, given_circumstances)
    assert action == CALM_CELLS[cell] or (CALM_CELLS[cell], action) == ("keep", "terminate")


@given(cells, circumstances)
def test_nothing_is_terminated_without_a_known_reference(
    cell: tuple[Owed, Observed], given_circumstances: Circumstances
) -> None:
    if plan(*cell, given_circumstances) == "terminate":
        assert cell[0] in ("allocation-control", "reclamation")
        assert cell[1] in REFERENCED - {"gone"}


@given(cells, circumstances)
def test_absence_is_recorded_on_nothing_but_its_proof(
    cell: tuple[Owed, Observed], given_circumstances: Circumstances
) -> None:
    absent = plan(*cell, given_circumstances) in ("record-absent", "close-absent")
    assert absent == (cell[1] == "absent")


@given(cells, circumstances)
def test_end_is_recorded_on_nothing_but_seeing_it(
    cell: tuple[Owed, Observed], given_circumstances: Circumstances
) -> None:
    ended = plan(*cell, given_circumstances) in ("record-terminated", "close-released")
    assert ended == (cell[1] == "gone")


@given(cells, circumstances)
def test_failure_settles_nothing_but_terminal_convergence(
    cell: tuple[Owed, Observed], given_circumstances: Circumstances
) -> None:
    failed = plan(*cell, given_circumstances) == "record-failure"
    assert failed == (cell[0] == "terminal-convergence")


@given(cells, circumstances)
def test_doubt_leads_to_nothing_but_its_record(
    cell: tuple[Owed, Observed], given_circumstances: Circumstances
) -> None:
    if cell[1] in ("undetermined", "several"):
        assert plan(*cell, given_circumstances) == "record-uncertainty"


def test_observation_that_cannot_be_made_is_a_bug_of_the_caller() -> None:
    everything = set(itertools.product(get_args(Owed), get_args(Observed)))
    for owed, observed in everything - set(PLAN):
        with pytest.raises(KeyError):
            plan(owed, observed, CALM)
