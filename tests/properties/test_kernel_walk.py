"""Whatever is called in whatever order: no invariant breaks, and every store answers the same."""

import tempfile
from pathlib import Path
from random import Random

import anyio
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.contract.stage import ManualClock
from tests.properties.walk import MOVES, Move, Walker, draw_moves

import tenure
from tenure.model import decision
from tenure.model.decision import Decision


async def walk(url: str, moves: list[Move]) -> Walker:
    """Take a walk on a new ledger and see that all of it held."""
    clock = ManualClock()
    opened = await tenure.open_ledger(url, clock=clock)
    walker = Walker(opened, clock)
    await walker.take(moves)
    assert walker.watched.broken == []
    listed, expected = await walker.owed()
    assert listed == expected
    assert list(await walker.ledger.check()) == []
    return walker


def all_decisions() -> set[type]:
    """List every decision that any operation may give."""
    return {
        kind
        for kind in vars(decision).values()
        if isinstance(kind, type) and issubclass(kind, Decision) and kind is not Decision
    }


async def compare(moves: list[Move]) -> None:
    """Take one walk on both stores and compare answers, rows and journals."""
    with tempfile.TemporaryDirectory() as folder:
        memory = await walk("memory:", moves)
        sqlite = await walk(f"sqlite:///{Path(folder) / 'ledger.sqlite'}", moves)
        assert sqlite.answers == memory.answers
        assert await sqlite.rows() == await memory.rows()
        assert await sqlite.journal() == await memory.journal()
        await sqlite.ledger.aclose()
        await memory.ledger.aclose()


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, min_size=20, max_size=100))
def test_every_walk_keeps_every_invariant(moves: list[Move]) -> None:
    anyio.run(walk, "memory:", moves)


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(MOVES, min_size=20, max_size=60))
def test_both_stores_take_every_walk_alike(moves: list[Move]) -> None:
    anyio.run(compare, moves)


def test_seeded_walks_keep_every_invariant_and_reach_every_decision() -> None:
    reached: set[type] = set()
    for seed in range(150):
        walker = anyio.run(walk, "memory:", draw_moves(Random(seed), 60))
        reached |= {type(answer) for answer in walker.answers}
    assert all_decisions() - reached == set()


def test_both_stores_take_seeded_walks_alike() -> None:
    for seed in range(1000, 1010):
        anyio.run(compare, draw_moves(Random(seed), 80))
