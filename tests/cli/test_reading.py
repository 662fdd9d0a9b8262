"""``ls``, ``show`` and ``owed``: what they tell, and that they make nothing."""

import json
import sqlite3
import time
from pathlib import Path

import anyio
import pytest
from tests.cli.calling import CALL_SECONDS, Tenure

from tenure import open_ledger

READING = [["ls"], ["owed"], ["show", "x"], ["wait", "x"], ["recover"], ["cancel", "x"]]
NEEDING = [*READING, ["ledger", "check"], ["ledger", "upgrade"]]


@pytest.mark.parametrize("command", NEEDING, ids=" ".join)
def test_missing_ledger_is_told_and_not_made(tenure: Tenure, command: list[str]) -> None:
    done = tenure.call(*command)
    assert (done.code, done.output) == (125, b"")
    assert "tenure ledger init" in done.errors
    assert len(done.errors.splitlines()) == 1
    assert not tenure.state.exists()


@pytest.mark.parametrize("command", NEEDING, ids=" ".join)
def test_missing_ledger_is_told_as_json_when_wanted(tenure: Tenure, command: list[str]) -> None:
    done = tenure.call(*command, "--json")
    assert (done.code, done.output) == (125, b"")
    assert json.loads(done.errors)["error"]["code"] == "ledger-open"


@pytest.mark.parametrize("command", ["show", "wait", "cancel"])
def test_unknown_execution_is_told(tenure: Tenure, command: str) -> None:
    assert tenure.call("ledger", "init").code == 0
    done = tenure.call(command, "x\x1b[31m")
    assert done.code == 125
    assert "is not in ledger" in done.errors
    assert "\x1b" not in done.errors


def test_list_shows_the_newest_first_and_says_when_there_are_more(tenure: Tenure) -> None:
    for execution_id in ("a", "b", "c"):
        tenure.call("run", "--id", execution_id, "--", "true")
    listed = tenure.call("ls", "--limit", "2", "--json").document
    ids = [entry["execution"]["executionId"] for entry in listed["executions"]]
    assert (ids, listed["hasMore"]) == (["c", "b"], True)
    assert len(tenure.call("ls", "--all", "--limit", "2", "--json").document["executions"]) == 3
    text = tenure.call("ls").text
    assert "completed after" in text
    assert str(tenure.ledger_file) in text.splitlines()[-1]


def test_list_can_be_narrowed(tenure: Tenure) -> None:
    tenure.call("run", "--id", "ended", "--", "false")
    tenure.detach("sleep", "300", options=["--id", "running"])

    def ids(*options: str) -> list[str]:
        listed = tenure.call("ls", "--json", *options).document["executions"]
        return [entry["execution"]["executionId"] for entry in listed]

    assert ids() == ["running", "ended"]
    assert ids("--running") == ["running"]
    assert ids("--concluded") == ["ended"]
    assert tenure.call("ls", "--running", "--concluded").code == 125
    assert tenure.call("ls", "--limit", "0").code == 125
    tenure.call("cancel", "running")


def test_show_tells_all_and_keeps_the_secret(tenure: Tenure) -> None:
    execution_id = tenure.detach("sleep", "300")
    document = tenure.call("show", execution_id, "--json").document
    (attempt,) = document["attempts"]
    assert attempt["operation"]["generation"] == 1
    assert "token" not in attempt["operation"]
    events = [entry["event"] for entry in document["journal"]]
    assert events[:4] == [
        "execution-submitted",
        "attempt-created",
        "provisioning-begun",
        "allocation-recorded",
    ]
    attempt_id = attempt["attempt"]["executionAttemptId"]
    by_attempt = tenure.call("show", attempt_id)
    assert by_attempt.text.startswith(execution_id)
    for told in (
        "sleep 300",
        "allocation-recorded",
        attempt_id,
        "allocation-control",
        "handed off",
    ):
        assert told in by_attempt.text
    tenure.call("cancel", execution_id)


def test_attempt_that_was_made_through_the_port_is_shown(tenure: Tenure) -> None:
    async def make() -> None:
        async with open_ledger(f"sqlite:///{tenure.ledger_file}") as ledger:
            await ledger.create_attempt(execution_attempt_id="a", execution_id="x")

    anyio.run(make)
    for subject_id in ("a", "x"):
        done = tenure.call("show", subject_id)
        assert done.code == 0
        assert "attempt a" in done.text
    waited = tenure.call("wait", "x")
    assert waited.code == 125
    assert "was never submitted: its attempts were made through the port" in waited.errors
    shown = tenure.call("show", "x").text
    assert "tenure wait" not in shown
    assert "tenure cancel" not in shown


def test_what_has_finished_is_told_in_one_line(tenure: Tenure) -> None:
    execution_id = tenure.detach("true")
    deadline = time.monotonic() + CALL_SECONDS
    while "1 finished; `tenure recover` clears it up" not in (told := tenure.call("owed").text):
        assert time.monotonic() < deadline, told
    assert execution_id not in told
    assert execution_id in tenure.call("owed", "--all").text
    assert len(tenure.call("owed", "--json").document["owed"]) == 1
    shown = tenure.call("show", execution_id).text
    assert str(tenure.state / "attempts") in shown
    assert "1 execution in" in tenure.call("ls").text
    assert tenure.call("recover").code == 0


def test_new_ledger_at_a_place_that_was_named_is_told_once(tenure: Tenure) -> None:
    url = f"sqlite:///{tenure.folder / 'nope' / 'x.db'}"
    told = f"made a new ledger {url}"
    assert told in tenure.call("run", "--ledger", url, "--", "true").errors
    assert told not in tenure.call("run", "--ledger", url, "--", "true").errors


@pytest.mark.parametrize("url", ["memory:", "postgres://x", "x.db"])
def test_url_that_cannot_be_used_is_told_with_one_that_can(tenure: Tenure, url: str) -> None:
    done = tenure.call("ls", "--ledger", url)
    assert done.code == 125
    assert "use sqlite:///PATH" in done.errors
    assert "or memory:" not in done.errors


def test_hostile_text_cannot_reach_the_terminal(tenure: Tenure) -> None:
    tenure.call(
        "run", "--id", "x", "--", "sh", "-c", "printf '\\033[2J\\007'; exit 1", "\x1b]0;\x07"
    )
    for command in (["ls"], ["show", "x"], ["wait", "x"]):
        done = tenure.call(*command)
        assert b"\x1b" not in done.output
        assert b"\x07" not in done.output
        assert "\x1b" not in done.errors


def test_owed_hides_what_runs_as_it_should_and_counts_it(tenure: Tenure) -> None:
    execution_id = tenure.detach("sleep", "300")
    hidden = tenure.call("owed")
    assert hidden.code == 0
    assert "nothing is owed" in hidden.text
    assert "1 attempt runs as it should and is not shown (--all)" in hidden.text
    shown = tenure.call("owed", "--all")
    for told in (execution_id, "it was handed off", "tenure cancel"):
        assert told in shown.text
    (entry,) = tenure.call("owed", "--all", "--json").document["owed"]
    assert entry["isHealthy"] is True
    assert entry["work"]["executionId"] == execution_id
    tenure.call("cancel", execution_id)


def test_nobody_reading_is_no_failure(tenure: Tenure) -> None:
    tenure.call("ledger", "init")
    process = tenure.start("ls")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=60) == 0


def test_foreign_file_is_refused_and_kept(tenure: Tenure, tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a ledger\n" * 100)
    done = tenure.call("ls", "--ledger", f"sqlite:///{file}")
    assert done.code == 125
    assert file.read_text() == "not a ledger\n" * 100


def test_unreadable_record_hides_nothing_that_is_owed(tenure: Tenure) -> None:
    async def make() -> None:
        async with open_ledger(f"sqlite:///{tenure.ledger_file}") as ledger:
            for attempt_id in ("bad", "good"):
                await ledger.create_attempt(
                    execution_attempt_id=attempt_id, execution_id=f"of {attempt_id}"
                )
                await ledger.begin_provisioning(
                    execution_attempt_id=attempt_id,
                    execution_id=f"of {attempt_id}",
                    provider_id="elsewhere",
                    allocation_lifetime="provider-managed",
                    provisioner_incarnation_id="p",
                    owner_id="p",
                    lease_expires_at=await ledger.now(),
                )

    tenure.state.mkdir()
    anyio.run(make)
    with sqlite3.connect(tenure.ledger_file) as connection:
        connection.execute(
            "UPDATE attempt SET last_failure = '{' WHERE execution_attempt_id = 'bad'"
        )
    told = tenure.call("owed")
    assert told.code == 0
    for text in ("of bad", "its record is unreadable", "`tenure ledger check`", "of good"):
        assert text in told.text
    bad, good = tenure.call("owed", "--json").document["owed"]
    assert (bad["work"]["kind"], good["work"]["kind"]) == ("unreadable", "operation")
