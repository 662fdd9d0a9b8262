"""``run --detach`` and ``wait``: started by one process, waited for by another."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
from tests.cli.calling import Tenure


def test_detach_prints_the_id_and_wait_tells_the_end(tenure: Tenure) -> None:
    done = tenure.call("run", "--detach", "--", "sh", "-c", "echo told; exit 5")
    execution_id = done.text.removesuffix("\n")
    assert done.code == 0
    assert execution_id.startswith("run-")
    assert execution_id.isprintable()
    waited = tenure.call("wait", execution_id, "--output")
    assert (waited.code, waited.output) == (5, b"told\n")
    again = tenure.call("wait", execution_id)
    assert (again.code, again.output) == (5, b"")


def test_detach_as_json_tells_what_was_started(tenure: Tenure) -> None:
    document = tenure.call("run", "--detach", "--json", "--", "sleep", "2").document
    assert document["state"] == "running"
    assert document["exitCode"] is None
    waited = tenure.call("wait", document["execution"]["executionId"], "--json")
    assert waited.document["state"] == "completed"


def test_wait_within_a_time_says_that_it_goes_on(tenure: Tenure) -> None:
    execution_id = tenure.detach("sleep", "300")
    done = tenure.call("wait", execution_id, "--within", "200ms", "--json")
    assert done.code == 75
    assert done.document["state"] == "running"
    assert "has not ended" in done.errors
    assert tenure.call("cancel", execution_id).code == 0


def test_many_at_once_are_each_run_once(tenure: Tenure) -> None:
    count = 30

    def start(number: int) -> str:
        return tenure.detach("sh", "-c", f"echo {number} >> ran; exit {number}")

    with ThreadPoolExecutor(10) as pool:
        ids = list(pool.map(start, range(count)))
        codes = list(pool.map(lambda execution_id: tenure.call("wait", execution_id).code, ids))
    assert len(set(ids)) == count
    assert codes == list(range(count))
    assert sorted(map(int, (tenure.folder / "ran").read_text().split())) == list(range(count))
    assert tenure.call("ledger", "check").code == 0
    assert tenure.call("owed", "--all", "--json").document["owed"] == []


def test_only_one_of_many_with_one_id_runs_the_command(tenure: Tenure) -> None:
    command = ("run", "--id", "x", "--", "sh", "-c", "echo once >> ran; sleep 1; exit 3")
    with ThreadPoolExecutor(6) as pool:
        codes = list(pool.map(lambda _: tenure.call(*command).code, range(6)))
    assert codes == [3] * 6
    assert (tenure.folder / "ran").read_text() == "once\n"


def test_wait_says_when_no_output_is_kept_here(tenure: Tenure, tmp_path: Path) -> None:
    execution_id = tenure.detach("echo", "told")
    tenure.call("wait", execution_id)
    elsewhere = tenure.call(
        "wait",
        execution_id,
        "--output",
        TENURE_LEDGER=f"sqlite:///{tenure.ledger_file}",
        TENURE_STATE_DIR=str(tmp_path / "other"),
    )
    assert (elsewhere.code, elsewhere.output) == (0, b"")
    assert "no output of" in elsewhere.errors
    assert tenure.call("wait", execution_id, "--output", "--json").code == 125


def test_supersede_begins_another_attempt_and_ends_the_old_one(tenure: Tenure) -> None:
    tenure.detach("sleep", "300", options=["--id", "x"])
    done = tenure.call("supersede", "x", "--detach")
    assert done.code == 0
    shown = tenure.call("show", "x", "--json").document
    assert shown["execution"]["activeAttemptId"] == done.text.strip()
    assert shown["execution"]["attemptCount"] == 2
    (work,) = tenure.call("owed", "--all", "--json").document["owed"]
    assert work["work"]["executionAttemptId"] == done.text.strip()
    tenure.call("cancel", "x")
    assert "has ended" in tenure.call("supersede", "x").errors
    assert "not in ledger" in tenure.call("supersede", "y").errors


def test_ledger_that_is_locked_for_a_while_is_waited_for(tenure: Tenure) -> None:
    tenure.call("ledger", "init")
    process = tenure.start("run", "--detach", "--id", "x", "--", "true")
    with closing(apsw.Connection(str(tenure.ledger_file))) as lock:
        lock.set_busy_timeout(5000)
        lock.execute("BEGIN IMMEDIATE")
        time.sleep(13)  # longer than one call waits for the lock
        lock.execute("ROLLBACK")
    done = tenure.finish(process)
    assert done.code == 0, done.errors
    assert done.text == "x\n"
    assert tenure.call("wait", "x").code == 0
