"""What ``owed`` says of a piece of open work, by what the ledger says about it."""

import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.contract.values import Loose

from tenure import OpenWork, make_evidence
from tenure.cli.debt import Debt, describe_holder, judge
from tenure.cli.opening import hint
from tenure.ports.incarnation import IncarnationAlive, IncarnationObservation
from tenure.remediation.spool import SPOOL_UNREADABLE

NOW = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
URL = "sqlite:////tmp/l.sqlite"
WORK = OpenWork(
    kind="operation",
    execution_attempt_id="a",
    execution_id="e",
    attempt_status="allocated",
    active=True,
    provider_id="detached",
    allocation_lifetime="provider-managed",
    provisioner_incarnation_id="i",
    mark="m",
    obligation="allocation-control",
    references=(),
    generation=1,
    owner_id=None,
    lease_expires_at=None,
    failure_count=0,
    last_failure=None,
    begun_at=NOW - MINUTE,
    opened_at=NOW - MINUTE,
    next_look_at=NOW + MINUTE,
    deadline_at=None,
    cancellation_requested=False,
)


class Witness:
    """Sees one process."""

    def __init__(self, seen: IncarnationObservation) -> None:
        self._seen = seen

    def current(self) -> str:
        return "o"

    def observe(self, incarnation_id: str) -> IncarnationObservation:  # noqa: ARG002 - the port's
        return self._seen


ALIVE = IncarnationAlive()


def judged(options: Loose = None, **changed: Loose) -> Debt:
    """Judge the work with some of it changed."""
    return judge(replace(WORK, **changed), Witness(ALIVE), NOW, URL, **(options or {}))


def test_work_with_its_look_ahead_runs_as_it_should() -> None:
    assert judged().is_healthy


def test_held_work_runs_as_it_should_however_long_ago_its_look_was_due() -> None:
    held = judged(owner_id="o", lease_expires_at=NOW + MINUTE, next_look_at=NOW - MINUTE)
    assert (held.holder, held.is_healthy) == ("alive", True)


def test_work_that_nobody_looks_at_is_told() -> None:
    overdue = judged(next_look_at=NOW - MINUTE)
    assert not overdue.is_healthy
    assert "not looked at since 13:59:00Z (1 min 0 s ago)" in overdue.reason
    for told in ("`tenure recover", "or `tenure wait e", "`tenure cancel e"):
        assert told in overdue.advice


def test_work_whose_lease_ran_out_is_told() -> None:
    lapsed = judged(owner_id="o", lease_expires_at=NOW - MINUTE)
    assert (lapsed.holder, lapsed.is_healthy) == ("lapsed", False)
    assert "not looked at since 13:59:00Z" in lapsed.reason


def test_what_was_never_submitted_is_not_to_be_waited_for_or_cancelled() -> None:
    overdue = judged({"is_submitted": False}, next_look_at=NOW - MINUTE)
    assert "wait" not in overdue.advice
    assert "cancel" not in overdue.advice


def test_work_of_a_provider_that_is_not_here_is_told() -> None:
    elsewhere = judged({"providers": {"detached"}}, provider_id="crane")
    assert (elsewhere.is_reachable, elsewhere.is_healthy) == (False, False)
    assert "this process has no provider 'crane'" in elsewhere.reason
    assert "where there is that provider" in elsewhere.advice


def test_what_stands_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENURE_STATE_DIR", str(tmp_path))
    evidence = make_evidence(source="s", summary="x", observed_at=NOW, code=SPOOL_UNREADABLE)
    doubted = {"failure_count": 1, "last_failure": evidence, "next_look_at": NOW - MINUTE}
    assert judged(**doubted).advice.startswith("`tenure recover")
    path = tmp_path / "attempts" / "m" / "outcome.json"
    path.mkdir(parents=True)
    assert judged(**doubted).advice.startswith(f"remove the folder {path}, which")
    path.rmdir()
    path.touch()
    assert judged(**doubted).advice.startswith(f"make {path} readable, or remove it; then `tenure")


def test_instant_of_another_day_has_its_date() -> None:
    far = datetime(2030, 1, 1, tzinfo=UTC)
    held = replace(WORK, owner_id="o", lease_expires_at=far)
    assert "until 2030-01-01 00:00:00Z" in describe_holder(held, "unknown", NOW)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    "execution_id",
    ["plain", "it's", "a\nb", "a\tb'\\c", "\x1b[31m", "\u202eabc", "é\u200b", "$(x)"],
)
def test_hint_can_be_pasted(execution_id: str) -> None:
    line = hint("show", execution_id, url=URL)
    assert line.isprintable()
    done = subprocess.run(["bash", "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True)
    words = done.stdout.decode().split("\0")[:-1]
    assert words == ["tenure", "show", execution_id, "--ledger", URL]
