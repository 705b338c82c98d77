"""The server: only our own page is answered, and no confirmed click is ever lost."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.studies.raters.conftest import Study
from tests.studies.raters.serving import Caller, Served, serve_packet, start

from autoreason.studies.raters.reading_plan import plan
from autoreason.studies.raters.sealed_key import open_key
from autoreason.studies.raters.storage import read_sheets


def free_port() -> str:
    """A free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


@pytest.fixture(scope="module")
def shared_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A packet for tests that leave nothing behind."""
    return Study(tmp_path_factory.mktemp("served") / "study")


@pytest.fixture(scope="module")
def shared_server(shared_study: Study) -> Iterator[Served]:
    """One server for tests that leave nothing behind."""
    with serve_packet(shared_study.folder, "--port", free_port()) as served:
        yield served


@pytest.fixture
def served(shared_server: Served) -> Iterator[Served]:
    """A server whose desk is free before and after."""
    yield shared_server
    Caller(shared_server).post("/api/clear", {})


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html"),
        ("/page.css", "text/css"),
        ("/page.js", "text/javascript"),
        ("/steps.js", "text/javascript"),
        ("/parts.js", "text/javascript"),
        ("/desk.js", "text/javascript"),
    ],
)
def test_the_page_comes_whole_from_this_machine(served: Served, path: str, kind: str) -> None:
    reply = served.ask("GET", path)
    assert reply.status == 200
    assert reply.headers["Content-Type"].startswith(kind)
    assert "https://" not in reply.text
    assert "http://" not in reply.text
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_a_foreign_name_for_this_machine_is_refused(served: Served) -> None:
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", ""):
        reply = served.ask("GET", "/api/state", Host=host)
        assert reply.status in (400, 403)
        assert "token" not in reply.text
    assert served.ask("GET", "/api/state", Host=f"localhost:{served.port}").status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X_Token": "wrong"},
        {"X_Token": ""},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
    ],
)
def test_another_site_can_change_nothing(served: Served, headers: dict[str, str]) -> None:
    caller = Caller(served)
    assert caller.post("/api/sit", {"rater": "Eve"}, **headers).status == 403
    assert caller.state()["desk"] is None


def test_only_json_is_read(served: Served) -> None:
    caller = Caller(served)
    assert caller.post("/api/sit", {"rater": "Eve"}, Content_Type="text/plain").status == 400
    bodies: tuple[object, ...] = ({"rater": 5}, [], {"type": "scored"})
    for body in bodies:
        assert caller.post("/api/sit", body).status == 400
    assert caller.state()["desk"] is None


def test_nothing_else_is_served(served: Served) -> None:
    for path in ("/key.sealed", "/packet.json", "/../packet.json", "/page/../key.sealed", "/api"):
        assert served.ask("GET", path).status == 404
    assert served.ask("DELETE", "/api/state").status == 403


def test_the_server_is_not_reachable_from_another_machine(served: Served) -> None:
    with socket.socket() as other:
        other.settimeout(2)
        # Every address of loopback leads to this machine, but only one is ours.
        with pytest.raises(OSError, match=r"refused|timed out|unreachable|assign"):
            other.connect(("127.0.0.2", served.port))


def test_nothing_the_page_is_reported_gives_a_source_away(served: Served) -> None:
    caller = Caller(served)
    reported = caller.sit("Anna").text
    assert not any(name in reported for name in ("a.md", "b.md", "c.md", "toast.md"))
    assert "orders_seed" not in reported


def test_a_rater_sees_the_texts_in_the_order_of_their_seat(
    served: Served, shared_study: Study
) -> None:
    caller = Caller(served)
    steps = caller.sit("Anna").value["sheet"]["plan"]
    (seat,) = [
        s.seat for s in read_sheets(shared_study.folder, shared_study.packet) if s.rater == "Anna"
    ]
    expected = plan(shared_study.packet, seat)
    assert [tuple(step["codes"]) for step in steps] == [step.codes for step in expected]


def test_a_second_browser_is_reported_who_is_rating(served: Served) -> None:
    one, two = Caller(served, "one"), Caller(served, "two")
    one.sit("Anna")
    refused = two.sit("Ben")
    assert (refused.status, refused.value["error"]) == (
        409,
        "Anna is rating now, in another window",
    )
    assert two.state()["desk"]["rater"] == "Anna"
    assert two.state()["sheet"] is None
    assert two.click("went", step=1).status == 409
    one.post("/api/leave", {})
    assert two.sit("Ben").status == 200


def test_a_click_that_does_not_fit_is_refused(served: Served) -> None:
    caller = Caller(served)
    caller.sit("Anna")
    assert caller.click("scored", code="NONE", line="clarity", score=3).status == 400
    assert caller.click("jumped").status == 400
    assert caller.click("went", step=1).status == 200


def test_a_kill_at_any_moment_loses_no_confirmed_click(study: Study) -> None:
    port = free_port()
    confirmed: dict[str, int] = {}
    for _ in range(2):
        with serve_packet(study.folder, "--port", port) as served:
            caller = Caller(served)
            sheet = caller.sit("Anna").value["sheet"]
            assert {
                f"{code}/{line}": score
                for code, lines in sheet["scores"].items()
                for line, score in lines.items()
            } == confirmed
            for code in study.codes:
                score = len(confirmed) % 5 + 1
                assert caller.click("scored", code=code, line="clarity", score=score).status == 200
                confirmed[f"{code}/clarity"] = score
            served.kill()
    (found,) = read_sheets(study.folder, study.packet)
    assert {
        f"{code}/clarity": lines["clarity"] for code, lines in found.scores.items()
    } == confirmed


def test_the_name_given_on_the_command_line_counts(study: Study) -> None:
    with serve_packet(study.folder, "--port", free_port(), "--rater", "Anna Bell") as served:
        caller = Caller(served)
        assert caller.state()["rater"] == "Anna Bell"
        assert caller.sit("Somebody else").value["sheet"]["rater"] == "Anna Bell"


def test_ctrl_c_ends_it_and_says_what_is_next(study: Study) -> None:
    with serve_packet(study.folder, "--port", free_port()) as served:
        Caller(served).sit("Anna")
        served.process.send_signal(signal.SIGINT)
        _, message = served.process.communicate(timeout=PATIENCE)
    assert served.process.returncode == 0
    assert "Anna sits down: 0 of 4 steps done" in message
    assert "1 person has rated, 0 finished; next: autoreason rate report" in message


def refusal(folder: Path, *options: str) -> str:
    """Why a server does not start."""
    process = start(folder, *options)
    _, message = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    assert message.startswith("autoreason: ")
    assert len(message.splitlines()) == 1
    return message


def test_a_packet_is_served_once_at_a_time(study: Study) -> None:
    with serve_packet(study.folder, "--port", free_port()) as served:
        assert f"is being rated at {served.url};" in refusal(study.folder)


def test_a_port_in_use_is_named_and_another_is_found_unless_one_was_asked_for(
    study: Study, two_tasks: Study
) -> None:
    with serve_packet(study.folder) as served:
        message = refusal(two_tasks.folder, "--port", str(served.port))
        assert f"port {served.port} is in use; name another --port" in message
        with serve_packet(two_tasks.folder) as other:
            assert other.port != served.port


def test_an_opened_packet_takes_no_more_ratings(study: Study) -> None:
    open_key(study.folder, study.packet, datetime(2026, 5, 1, 12, tzinfo=UTC))
    assert "no one can rate it blind any more" in refusal(study.folder)


def test_a_damaged_text_is_found_before_anyone_rates_it(study: Study) -> None:
    path = study.folder / "task-1" / f"{study.codes[1]}.md"
    path.write_text("Something else")
    assert f"{path} is not what it was" in refusal(study.folder)


def test_a_folder_that_is_no_packet_is_refused(tmp_path: Path) -> None:
    assert "is no packet; make one with" in refusal(tmp_path)
