"""Controllers killed with SIGKILL: one result or an honest account, and nothing left behind."""

import signal
from pathlib import Path
from typing import Any

import pytest
from tests.crash.conftest import Site, until

pytestmark = pytest.mark.timeout(180)


def timeline(site: Site, execution_id: str) -> list[dict[str, Any]]:
    shown = site.read("show", execution_id)
    assert isinstance(shown, dict)
    entries: list[dict[str, Any]] = shown["journal"]
    return entries


def events(site: Site, execution_id: str) -> list[str]:
    return [entry["event"] for entry in timeline(site, execution_id)]


def entry(site: Site, execution_id: str, event: str) -> dict[str, Any]:
    (found,) = (e for e in timeline(site, execution_id) if e["event"] == event)
    return found


def assert_nothing_is_left(site: Site) -> None:
    owed = site.read("owed", "--all")
    assert isinstance(owed, dict)
    assert (owed["owed"], owed["hiddenCount"]) == ([], 0)
    assert site.marked() == []


def test_killed_while_it_waits_the_command_ends_and_commits_once(
    site: Site, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = f"echo ran >> {ran}; sleep 3; echo finished"
    run = site.start("run", "--id", "e-1", "--", "sh", "-c", script)
    until(ran.exists)
    run.kill()
    run.wait()

    waited = site.tenure("wait", "e-1", "--json")
    assert waited.returncode == 0, waited.stderr
    assert site.tenure("recover").returncode == 0

    assert_nothing_is_left(site)
    assert ran.read_text() == "ran\n"
    assert events(site, "e-1").count("outcome-committed") == 1
    # The account: whose lease was left to run out, who took over, and on what evidence it closed.
    taken = entry(site, "e-1", "reclamation-taken-over")
    begun = entry(site, "e-1", "provisioning-begun")
    assert taken["detail"]["previousOwnerId"] == begun["actor"] != taken["actor"]
    assert taken["detail"]["previousLeaseExpiresAt"] <= taken["at"]
    closed = entry(site, "e-1", "reclamation-closed")
    assert closed["detail"]["closure"] == "released"
    assert closed["evidence"]["summary"]


def test_killed_before_the_allocation_is_recorded_it_is_discovered(
    site: Site, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = f"echo ran >> {ran}; sleep 25; echo finished"
    site.die_at("called", "e-2", ["sh", "-c", script])
    until(ran.exists)

    waited = site.tenure("wait", "e-2", "--json")
    assert waited.returncode == 0, waited.stderr
    assert site.tenure("recover").returncode == 0

    assert_nothing_is_left(site)
    assert ran.read_text() == "ran\n"
    happened = events(site, "e-2")
    assert happened.index("claim-taken-over") < happened.index("allocation-discovered")
    assert happened.count("outcome-committed") == 1
    assert "allocation-recorded" not in happened


def test_killed_before_the_allocation_is_recorded_the_outcome_may_come_first(site: Site) -> None:
    site.die_at("called", "e-3", ["true"])

    assert site.tenure("wait", "e-3").returncode == 0
    assert site.tenure("recover").returncode == 0

    assert_nothing_is_left(site)
    happened = events(site, "e-3")
    assert happened.count("outcome-committed") == 1
    assert happened[-1] == "reclamation-closed"


def test_killed_between_grant_and_call_it_is_abandoned_on_proof(site: Site) -> None:
    site.die_at("begun", "e-4", ["true"])

    assert site.tenure("recover").returncode == 0
    waited = site.tenure("wait", "e-4")

    assert waited.returncode == 125
    assert "abandoned" in waited.stderr
    assert_nothing_is_left(site)
    absent = entry(site, "e-4", "absence-recorded")
    assert absent["evidence"]["summary"]
    taken = entry(site, "e-4", "claim-taken-over")
    assert taken["detail"]["obligation"] == "provisioning-resolution"


def test_killed_before_the_grant_it_is_abandoned_on_the_submitters_death(site: Site) -> None:
    site.die_at("submitted", "e-5", ["true"])

    waited = site.tenure("wait", "e-5")

    assert waited.returncode == 125
    assert "abandoned" in waited.stderr
    assert_nothing_is_left(site)
    assert "provisioning-begun" not in events(site, "e-5")


def test_agent_killed_too_is_an_infrastructure_failure(site: Site, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    stubborn = f"trap '' TERM; (setsid sh -c 'sleep 300' &) ; echo ran > {ran}; sleep 300"
    run = site.start("run", "--id", "e-6", "--", "sh", "-c", stubborn)
    until(ran.exists)
    run.kill()
    run.wait()
    site.kill_agent()
    assert site.marked() != []

    assert site.tenure("recover").returncode == 0
    waited = site.tenure("wait", "e-6")

    assert waited.returncode == 125
    assert "infrastructure" in waited.stderr
    assert_nothing_is_left(site)
    happened = events(site, "e-6")
    assert happened.index("claim-taken-over") < happened.index("allocation-terminated")
    assert "outcome-committed" not in happened
    assert entry(site, "e-6", "allocation-terminated")["evidence"]["summary"]


def test_recover_without_waiting_says_until_when_a_lease_runs(site: Site) -> None:
    site.die_at("begun", "e-7", ["true"])

    hasty = site.tenure("recover", "--no-wait")

    begun = entry(site, "e-7", "provisioning-begun")
    assert hasty.returncode != 0
    assert begun["detail"]["leaseExpiresAt"][11:16] in hasty.stdout + hasty.stderr
    assert events(site, "e-7")[-1] == "provisioning-begun"


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_asked_to_stop_it_hands_off_and_nobody_waits_for_a_lease(
    site: Site, tmp_path: Path, signum: signal.Signals
) -> None:
    ran = tmp_path / "ran"
    script = f"echo ran > {ran}; sleep 2"
    run = site.start("run", "--id", "e-8", "--", "sh", "-c", script)
    until(ran.exists)
    run.send_signal(signum)
    assert run.wait(timeout=20) == 128 + signum

    assert site.tenure("wait", "e-8").returncode == 0
    assert site.tenure("recover").returncode == 0

    assert_nothing_is_left(site)
    happened = events(site, "e-8")
    assert happened.index("claim-handed-off") < happened.index("outcome-committed")


@pytest.mark.parametrize("point", ["begun", "called"])
def test_process_bound_attempt_dies_with_its_provisioner_and_is_lost(
    site: Site, point: str
) -> None:
    hostile = "trap '' TERM HUP; (setsid sh -c 'sleep 300' &) ; sleep 300"
    site.die_at(point, "e-9", ["sh", "-c", hostile], provider="process")
    until(lambda: site.marked() == [])

    assert site.tenure("recover").returncode == 0
    waited = site.tenure("wait", "e-9")

    assert waited.returncode == 125
    assert "abandoned" in waited.stderr
    assert_nothing_is_left(site)
    lost = entry(site, "e-9", "provisioner-incarnation-lost")
    assert "its provisioner is dead" in lost["evidence"]["summary"]


def test_process_bound_attempt_killed_later_is_an_infrastructure_failure(
    site: Site, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    hostile = f"trap '' TERM HUP; (setsid sh -c 'sleep 300' &) ; echo ran > {ran}; sleep 300"
    run = site.start("run", "--provider", "process", "--id", "e-10", "--", "sh", "-c", hostile)
    until(ran.exists)
    run.kill()
    run.wait()
    until(lambda: site.marked() == [])

    assert site.tenure("recover").returncode == 0
    waited = site.tenure("wait", "e-10")

    assert waited.returncode == 125
    assert_nothing_is_left(site)
    ended = entry(site, "e-10", "allocation-terminated")
    assert ended["evidence"]["code"] == "provisioner-incarnation-lost"
    assert "outcome-committed" not in events(site, "e-10")
