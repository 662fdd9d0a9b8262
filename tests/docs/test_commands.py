"""The commands that the documents show are the ones that run."""

from tests.tidy.source import ROOT


def read_shell_lines(path: str) -> list[str]:
    """List the lines inside the fenced shell blocks of one document."""
    blocks = (ROOT / path).read_text(encoding="utf-8").split("```sh\n")[1:]
    return [line for block in blocks for line in block.split("```")[0].splitlines()]


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    commands = [line for line in read_shell_lines("README.md") if "pytest" in line]
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()
    assert len(commands) == 1
    assert commands == [line for line in script if "pytest" in line and not line.startswith("#")]
