"""What a person sees: the status line, on a terminal and nowhere else."""

import os
import pty
import subprocess

from tests.cli.calling import CALL_SECONDS, SCRIPT, Tenure

ERASE = b"\r\x1b[2K"


def run_on_terminal(tenure: Tenure, *arguments: str) -> bytes:
    """Run the script with both streams on one terminal, and return what was written to it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [SCRIPT, *arguments], env=tenure.environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    tenure.started.append(process)
    os.close(theirs)
    seen = b""
    try:
        while piece := os.read(ours, 65536):
            seen += piece
    except OSError:
        pass  # the last one that had it open has closed it
    finally:
        os.close(ours)
    process.wait(timeout=CALL_SECONDS)
    return seen


def test_status_line_shows_on_a_terminal_and_is_gone_at_the_end(tenure: Tenure) -> None:
    seen = run_on_terminal(tenure, "run", "--id", "x", "--", "sh", "-c", "sleep 2; echo told")
    assert "x · running · lease until".encode() in seen
    last = seen.rsplit(ERASE, 1)[-1]
    assert b"lease until" not in last
    assert b"tenure: x completed after" in last
    assert b"told\r\n" in seen


def test_status_line_leaves_a_begun_line_alone(tenure: Tenure) -> None:
    script = "printf begun; sleep 2; echo ' and ended'"
    seen = run_on_terminal(tenure, "run", "--id", "x", "--", "sh", "-c", script)
    assert b"begun and ended\r\n" in seen


def test_output_in_a_pipe_stays_clean_though_messages_go_to_a_terminal(tenure: Tenure) -> None:
    ours, theirs = pty.openpty()
    process = tenure.start("run", "--", "sh", "-c", "sleep 1; echo told", stderr=theirs)
    done = tenure.finish(process)
    os.close(theirs)
    assert (done.code, done.output) == (0, b"told\n")
    assert b"lease until" in os.read(ours, 1 << 20)
    os.close(ours)


def test_status_line_is_left_out_of_a_pipe(tenure: Tenure) -> None:
    done = tenure.call("run", "--", "sleep", "1")
    assert "lease" not in done.errors
    assert "\x1b" not in done.errors


def test_tables_fit_a_terminal_and_are_not_cut_in_a_pipe(tenure: Tenure) -> None:
    word = "w" * 300
    tenure.call("run", "--", "echo", word)
    assert word in tenure.call("ls").text
    assert word.encode() not in run_on_terminal(tenure, "ls")
