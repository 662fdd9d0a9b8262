"""Signals end the waiting, never the work."""

import signal
import time
from pathlib import Path

import pytest
from tests.cli.calling import Tenure

COMMAND = "echo began; touch running; while [ ! -e stop ]; do sleep 0.05; done; echo over; exit 9"


@pytest.mark.parametrize(
    ("signum", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
def test_signal_hands_off_and_wait_goes_on(
    tenure: Tenure, tmp_path: Path, signum: int, code: int
) -> None:
    process = tenure.start("run", "--id", "x", "--", "sh", "-c", COMMAND)
    tenure.wait_until_running(tmp_path / "running")
    process.send_signal(signum)
    stopped = tenure.finish(process)
    assert stopped.code == code
    assert "`tenure wait x` waits for it, `tenure cancel x` ends it" in stopped.last_error
    (entry,) = tenure.call("owed", "--all", "--json").document["owed"]
    assert entry["holder"] == "nobody"

    assert tenure.call("wait", "x", "--within", "0.3").code == 75
    (tmp_path / "stop").touch()
    done = tenure.call("wait", "x", "--output")
    assert (done.code, done.output) == (9, b"began\nover\n")


def test_ignored_hangup_stays_ignored(tenure: Tenure, tmp_path: Path) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = tenure.start("run", "--", "sh", "-c", COMMAND)
    finally:
        signal.signal(signal.SIGHUP, before)
    tenure.wait_until_running(tmp_path / "running")
    process.send_signal(signal.SIGHUP)
    (tmp_path / "stop").touch()
    assert tenure.finish(process).code == 9


def test_interrupted_wait_leaves_the_execution_alone(tenure: Tenure, tmp_path: Path) -> None:
    execution_id = tenure.detach("sh", "-c", COMMAND)
    tenure.wait_until_running(tmp_path / "running")
    process = tenure.start("wait", execution_id, "--output")
    assert process.stdout is not None
    assert process.stdout.readline() == b"began\n"
    process.send_signal(signal.SIGINT)
    assert tenure.finish(process).code == 130
    (tmp_path / "stop").touch()
    assert tenure.call("wait", execution_id).code == 9


def test_reader_that_stands_still_holds_up_no_signal(tenure: Tenure, tmp_path: Path) -> None:
    script = "touch running; head -c 3000000 /dev/zero; exec sleep 300"
    process = tenure.start("run", "--id", "x", "--", "sh", "-c", script)
    tenure.wait_until_running(tmp_path / "running")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(100_000)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert b"`tenure wait x` waits for it" in process.stderr.read()
    (entry,) = tenure.call("owed", "--all", "--json").document["owed"]
    assert entry["holder"] == "nobody"
    tenure.call("cancel", "x")


def test_signal_cancels_what_ends_with_this_process(tenure: Tenure, tmp_path: Path) -> None:
    script = "touch running; exec sleep 300"
    process = tenure.start("run", "--provider", "process", "--id", "x", "--", "sh", "-c", script)
    tenure.wait_until_running(tmp_path / "running")
    process.send_signal(signal.SIGINT)
    done = tenure.finish(process)
    assert done.code == 130
    assert "x cancelled: stopped by SIGINT" in done.errors


def test_interrupt_is_silent_from_the_beginning(tenure: Tenure) -> None:
    for delay in (0.06, 0.1, 0.15, 0.2):
        process = tenure.start("ls")
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        done = tenure.finish(process)
        if "tenure" in done.errors:  # else the interpreter itself had not started yet
            assert "Traceback" not in done.errors
