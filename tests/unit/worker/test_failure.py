"""The grammar of failures: what is rendered is parsed, and nothing else."""

import pytest
from hypothesis import given, strategies as st

from tenure.worker.failure import (
    parse_failure,
    render_exit,
    render_not_found,
    render_not_started,
    render_signal,
    render_timeout,
)

seconds = st.floats(min_value=0, max_value=1e9)
tails = st.lists(st.text(st.characters(exclude_characters="\n")), max_size=3)


@given(st.integers(1, 255), seconds, tails)
def test_an_exit_status_is_its_own_code(status: int, ran: float, tail: list[str]) -> None:
    assert parse_failure("\n".join([render_exit(status, seconds=ran), *tail])) == status


@given(st.integers(1, 64), seconds, tails)
def test_a_signal_is_told_as_a_shell_does(signum: int, ran: float, tail: list[str]) -> None:
    assert parse_failure("\n".join([render_signal(signum, seconds=ran), *tail])) == 128 + signum


@given(st.integers(0, 2**53), tails)
def test_a_timeout_is_124(timeout_ms: int, tail: list[str]) -> None:
    assert parse_failure("\n".join([render_timeout(timeout_ms), *tail])) == 124


@given(st.text())
def test_a_reason_is_one_line(reason: str) -> None:
    error = render_not_started(reason)
    assert error.splitlines() == [error]
    assert parse_failure(error) in {126, 127}


@given(st.text())
def test_a_missing_program_is_127(program: str) -> None:
    assert parse_failure(render_not_found(program)) == 127


@pytest.mark.parametrize(
    ("timeout_ms", "told"),
    [(5000, "timeout after 5 s"), (1500, "timeout after 1.5 s"), (1, "timeout after 0.001 s")],
)
def test_a_timeout_names_the_whole_span(timeout_ms: int, told: str) -> None:
    assert render_timeout(timeout_ms) == told


def test_the_grammar_reads_as_documented() -> None:
    assert render_exit(3, seconds=1.234) == "exit status 3 after 1.23 s"
    assert render_signal(9, seconds=60) == "signal 9 after 60.00 s"
    assert render_not_started("no\nspace") == "not started: no space"


@pytest.mark.parametrize(
    "error",
    [
        "",
        "boom",
        "exit status 0 after 1.00 s",
        "exit status 3",
        "exit status 3 after 1 s",
        "xexit status 3 after 1.00 s",
        "tail\nexit status 3 after 1.00 s",
        "signal 0 after 1.00 s",
        "signal 9 after 1.00 s and more",
        "timeout",
        "not started: ",
    ],
)
def test_another_grammar_has_no_code(error: str) -> None:
    assert parse_failure(error) is None
