"""``tenure run``: streams apart, bytes as they are, and the command's own exit code."""

import json
import os
import subprocess
import time
from pathlib import Path

import pytest
from tests.cli.calling import SCRIPT, Tenure


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "exit 125"], 125),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-program-anywhere"], 127),
        (["/"], 126),
    ],
    ids=["success", "status", "status-125", "signal", "not-found", "not-started"],
)
def test_run_exits_as_the_command_did(tenure: Tenure, command: list[str], code: int) -> None:
    assert tenure.call("run", "--", *command).code == code


def test_output_and_messages_do_not_mix(tenure: Tenure) -> None:
    done = tenure.call("run", "--id", "x", "--", "sh", "-c", "echo out; echo err >&2; exit 3")
    assert done.output == b"out\nerr\n"
    assert all(line.startswith("tenure: x ") for line in done.errors.splitlines())
    assert str(tenure.ledger_file) in done.errors
    assert "failed: exit status 3 after " in done.last_error
    assert "tenure show x" in done.last_error


def test_output_is_passed_on_byte_for_byte(tenure: Tenure) -> None:
    script = r"printf 'a\000b\377\r\n\033[31mno end of line'"
    assert tenure.call("run", "--", "sh", "-c", script).output == (
        b"a\0b\xff\r\n\x1b[31mno end of line"
    )


def test_large_output_is_complete(tenure: Tenure) -> None:
    done = tenure.call("run", "--", "seq", "1", "300000")
    assert done.output == "".join(f"{n}\n" for n in range(1, 300001)).encode()


def test_output_comes_while_the_command_runs(tenure: Tenure) -> None:
    process = tenure.start("run", "--", "sh", "-c", "echo early; exec sleep 3")
    assert process.stdout is not None
    assert process.stdout.readline() == b"early\n"
    assert process.poll() is None
    assert tenure.finish(process).code == 0


def test_options_after_the_separator_are_the_command_s(tenure: Tenure) -> None:
    done = tenure.call("run", "--", "printf", "%s|", "--json", "--", "--help", "-h", "", "a b")
    assert done.output == b"--json|--|--help|-h||a b|"


def test_run_without_a_separator_is_refused(tenure: Tenure) -> None:
    done = tenure.call("run", "true")
    assert done.code == 125
    assert "put -- before the command" in done.errors
    assert not tenure.state.exists()


def test_the_command_runs_in_the_current_folder_and_environment(
    tenure: Tenure, tmp_path: Path
) -> None:
    folder = tmp_path / "a folder"
    folder.mkdir()
    done = tenure.call("run", "--", "sh", "-c", 'pwd; echo "$HUE"', cwd=folder, HUE="green")
    assert done.text == f"{folder}\ngreen\n"


def test_no_tail_passes_nothing_on(tenure: Tenure) -> None:
    assert tenure.call("run", "--no-tail", "--", "echo", "hidden").output == b""


def test_json_prints_one_document_and_no_output(tenure: Tenure) -> None:
    done = tenure.call("run", "--json", "--id", "x", "--", "sh", "-c", "echo told; exit 3")
    document = done.document
    assert done.code == document["exitCode"] == 3
    assert document["state"] == "failed"
    assert document["execution"]["executionId"] == "x"
    assert document["settlement"]["result"]["error"].splitlines()[1:] == ["told"]


def test_timeout_stops_the_command(tenure: Tenure) -> None:
    began = time.monotonic()
    done = tenure.call("run", "--timeout", "500ms", "--", "sleep", "300")
    assert done.code == 124
    assert "timeout after 0.5 s" in done.last_error
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "1e9", "5 m", "", "9" * 12 + "d"])
def test_bad_timeout_is_refused(tenure: Tenure, text: str) -> None:
    done = tenure.call("run", f"--timeout={text}", "--", "true")
    assert done.code == 125
    assert len(done.errors.splitlines()) == 1
    assert not tenure.state.exists()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--"], "invalid command: given nothing"),
        (["--", ""], "a program's name or path"),
        (["--", "--", "true"], "a second `--`"),
        (["--attempts", "0", "--", "true"], "invalid --attempts"),
        (["--detach", "--provider", "process", "--", "true"], "ends with this process"),
        (["--id", "x" * 256, "--", "true"], "(256 units)"),
        (["--id", "", "--", "true"], "invalid --id"),
        (["--id", os.fsdecode(b"\xff"), "--", "true"], "valid Unicode"),
        (["--", "echo", os.fsdecode(b"\xff")], "text in UTF-8"),
        (["--provider", "moon", "--", "true"], "use one of: detached"),
        (["--ledger", "memory:", "--", "true"], "no worker can reach it"),
        (["--ledger", "bogus://user:secret@host", "--", "true"], "no known kind of ledger"),
        (["--bogus", "--", "true"], "Unknown option"),
    ],
)
def test_bad_input_is_told_in_one_line(tenure: Tenure, arguments: list[str], told: str) -> None:
    done = tenure.call("run", *arguments)
    assert done.code == 125
    assert told in done.errors
    assert "secret" not in done.errors
    assert len(done.errors.splitlines()) == 1
    assert tenure.bearers() == []


def test_bad_input_is_told_as_json_when_wanted(tenure: Tenure) -> None:
    done = tenure.call("run", "--json", "--provider", "moon", "--", "true")
    assert done.output == b""
    assert json.loads(done.errors)["error"]["code"] == "provider"


def test_the_same_run_again_waits_instead_of_running_again(tenure: Tenure) -> None:
    command = ("run", "--id", "x", "--", "sh", "-c", "echo once >> ran; echo told; exit 4")
    first, second = tenure.call(*command), tenure.call(*command)
    assert (first.code, first.output) == (second.code, second.output) == (4, b"told\n")
    assert (tenure.folder / "ran").read_text() == "once\n"
    assert "x started in" in first.errors
    assert "started" not in second.errors
    assert "x exists already" in second.errors


def test_an_id_is_never_reused_for_another_command(tenure: Tenure) -> None:
    tenure.call("run", "--id", "x", "--", "true")
    done = tenure.call("run", "--id", "x", "--", "false")
    assert done.code == 125
    assert "exists with another submission" in done.errors
    assert 'the command (["true"] there, ["false"] here)' in done.errors
    assert "the folder" not in done.errors


def test_reader_that_leaves_does_not_end_the_wait(tenure: Tenure) -> None:
    process = tenure.start("run", "--", "sh", "-c", "seq 1 100000; sleep 1; seq 1 100000; exit 5")
    assert process.stdout is not None
    assert process.stdout.readline() == b"1\n"
    process.stdout.close()
    assert process.wait(timeout=60) == 5
    assert process.stderr is not None
    assert b"exit status 5" in process.stderr.read()


def test_full_disk_at_the_reader_is_told_and_does_not_end_the_wait(tenure: Tenure) -> None:
    with Path("/dev/full").open("wb") as full:
        process = tenure.start("run", "--", "sh", "-c", "echo lost; exit 6", stdout=full.fileno())
        done = tenure.finish(process)
    assert done.code == 6
    assert "output can no longer be written: No space left on device" in done.errors


def test_closed_streams_never_reach_the_ledger(tenure: Tenure) -> None:
    line = f"exec {SCRIPT} run -- sh -c 'echo hello; exit 5' <&- >&- 2>&-"
    shell = subprocess.run(["sh", "-c", line], env=tenure.environment, timeout=60, check=False)
    assert shell.returncode == 5
    assert tenure.call("ledger", "check").code == 0


def test_what_a_command_leaves_behind_is_ended(tenure: Tenure) -> None:
    done = tenure.call("run", "--", "sh", "-c", "setsid sleep 300 & echo done")
    assert (done.code, done.output) == (0, b"done\n")
    assert "left processes behind, which were ended" in done.errors
    assert tenure.bearers() == []
    assert tenure.call("owed", "--json").document["owed"] == []


def test_relative_ledger_is_reached_by_its_worker(tenure: Tenure, tmp_path: Path) -> None:
    done = tenure.call("run", "--ledger", "sqlite:///here.sqlite", "--", "true")
    assert done.code == 0
    assert (tmp_path / "here.sqlite").is_file()
    assert f"--ledger sqlite:///{tmp_path}/here.sqlite" in done.last_error
    assert tenure.call("ls", "--json", TENURE_LEDGER="sqlite:///here.sqlite").document["executions"]


def test_command_line_in_one_word_is_explained(tenure: Tenure) -> None:
    done = tenure.call("run", "--", "ls -la")
    assert done.code == 127
    assert "`tenure run -- ls -la`" in done.last_error


def test_failed_attempts_are_retried_and_the_newest_is_followed(tenure: Tenure) -> None:
    script = "echo try >> ran; wc -l < ran; [ $(wc -l < ran) = 2 ] || exit 3"
    options = ("--attempts", "3", "--retry-failed", "--retry-delay", "100ms", "--id", "x")
    done = tenure.call("run", *options, "--", "sh", "-c", script)
    assert done.code == 0
    assert "output of attempt 2 of x" in done.errors
    assert done.output.split() == [b"1", b"2"]
