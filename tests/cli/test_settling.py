"""``recover`` and ``cancel``: what nobody answers for is settled, and what runs is left alone."""

import signal
import time
from pathlib import Path

from tests.cli.calling import Tenure

from tenure.machine import signal_process


def kill_everything(tenure: Tenure) -> None:
    """Kill what runs for the ledger's attempts, agents first to last."""
    while bearers := tenure.bearers():
        for identity in bearers:
            signal_process(identity, signal.SIGKILL)
        time.sleep(0.05)


def test_recover_settles_what_has_died(tenure: Tenure) -> None:
    execution_id = tenure.detach("sleep", "300")
    kill_everything(tenure)
    done = tenure.call("recover")
    assert done.code == 0
    assert "infrastructure-failure-recorded" in done.text
    assert "nothing is owed" in done.text.splitlines()[-1]
    waited = tenure.call("wait", execution_id, "--json")
    assert waited.code == 125
    assert waited.document["state"] == "no-outcome"
    assert "ended without an outcome (infrastructure-failure)" in waited.errors
    assert waited.document["evidence"]["summary"] in waited.errors
    assert tenure.call("owed", "--all", "--json").document["owed"] == []


def test_recover_tells_as_json_what_it_did(tenure: Tenure) -> None:
    tenure.detach("sleep", "300", options=["--id", "dead"])
    kill_everything(tenure)
    tenure.detach("sleep", "300", options=["--id", "living"])
    document = tenure.call("recover", "--no-wait", "--json").document
    assert document["owedCount"] == 0
    assert [(a["executionId"], a["ending"]) for a in document["attempts"]] == [
        ("dead", "settled"),
        ("living", "running"),
    ]
    assert "allocation-terminated" in [e["event"] for e in document["attempts"][0]["journal"]]
    tenure.call("cancel", "living")


def test_recover_does_not_wait_for_what_runs(tenure: Tenure, tmp_path: Path) -> None:
    process = tenure.start("run", "--id", "x", "--", "sh", "-c", "touch running; exec sleep 300")
    tenure.wait_until_running(tmp_path / "running")
    began = time.monotonic()
    done = tenure.call("recover")
    assert time.monotonic() - began < 30
    assert done.code == 0
    assert "running" in done.text
    tenure.call("cancel", "x")
    assert tenure.finish(process).code == 130


def test_recover_ends_when_somebody_else_settles_what_it_waits_for(
    tenure: Tenure, tmp_path: Path
) -> None:
    run = tenure.start("run", "--id", "x", "--", "sh", "-c", "touch running; exec sleep 3")
    tenure.wait_until_running(tmp_path / "running")
    run.kill()
    first, second = tenure.start("recover"), tenure.start("recover")
    assert first.stderr is not None
    assert b"waiting" in first.stderr.readline()  # for the lease of the process that was killed
    first.send_signal(signal.SIGSTOP)
    assert tenure.finish(second).code == 0
    first.send_signal(signal.SIGCONT)
    done = tenure.finish(first)
    assert done.code == 0
    assert "nothing is owed" in done.text.splitlines()[-1]


def test_cancel_ends_what_nobody_holds(tenure: Tenure) -> None:
    execution_id = tenure.detach("sleep", "300")
    done = tenure.call("cancel", execution_id, "--reason", "not needed", "--json")
    assert done.code == 0
    assert done.document["state"] == "cancelled"
    assert done.document["settlement"]["result"]["reason"] == "not needed"
    assert tenure.bearers() == []
    assert tenure.call("wait", execution_id).code == 130


def test_cancel_ends_what_another_process_holds(tenure: Tenure, tmp_path: Path) -> None:
    process = tenure.start("run", "--id", "x", "--", "sh", "-c", "touch running; exec sleep 300")
    tenure.wait_until_running(tmp_path / "running")
    done = tenure.call("cancel", "x", "--reason", "not needed")
    assert done.code == 0
    assert "x cancelled: not needed" in done.errors
    run = tenure.finish(process)
    assert run.code == 130
    assert "x cancelled: not needed" in run.errors


def test_cancel_is_idempotent_and_says_who_asked_first(tenure: Tenure, tmp_path: Path) -> None:
    script = "trap '' TERM; touch running; while :; do sleep 0.1; done"
    tenure.detach("sh", "-c", script, options=["--id", "x"])
    tenure.wait_until_running(tmp_path / "running")
    first = tenure.call("cancel", "x", "--reason", "one", "--within", "0.1")
    assert first.code == 75
    assert "the request stays" in first.errors
    second = tenure.call("cancel", "x", "--reason", "two", "--json")
    assert second.code == 0
    assert "asked first" in second.errors
    assert second.document["execution"]["cancellation"]["reason"] == "one"
    third = tenure.call("cancel", "x")
    assert third.code == 0
    assert "had ended before" in third.errors


def test_cancel_does_not_change_an_answer(tenure: Tenure) -> None:
    tenure.call("run", "--id", "x", "--", "sh", "-c", "exit 4")
    assert tenure.call("cancel", "x").code == 0
    assert tenure.call("wait", "x").code == 4


def test_recover_begins_the_next_attempt(tenure: Tenure) -> None:
    options = ["--id", "x", "--attempts", "2", "--retry-delay", "1ms"]
    tenure.detach("sleep", "300", options=options)
    kill_everything(tenure)
    document = tenure.call("recover", "--json").document
    assert document["owedCount"] == 0
    assert [attempt["ending"] for attempt in document["attempts"]] == ["settled", "retried"]
    assert tenure.call("show", "x", "--json").document["state"] == "running"
    tenure.call("cancel", "x")
