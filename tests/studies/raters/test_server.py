"""The rating page: who may ask for it, one person at a time, and nothing in a text acts."""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from datetime import UTC, datetime
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.patience import PATIENCE
from tests.studies.raters.conftest import Study
from tests.studies.raters.serving import Caller, Served, serve_packet, start

from autoreason.characters import without_controls
from autoreason.studies.rating_packet import (
    FinishClick,
    RankingClick,
    StepClick,
    open_key,
    plan,
    read_sheets,
)
from autoreason.studies.rating_server import Desk, DeskOccupied, render


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
        assert f"cannot listen on port {served.port}: " in message
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
    assert "is not a packet; make one with" in refusal(tmp_path)


@pytest.fixture
def lines() -> list[str]:
    """What the desk says."""
    return []


@pytest.fixture
def desk(study: Study, lines: list[str]) -> Desk:
    """A free desk."""
    return Desk(study.folder, study.packet, lines.append)


def test_only_the_browser_at_the_desk_can_click(desk: Desk, study: Study) -> None:
    desk.sit("one", "Anna")
    with pytest.raises(DeskOccupied, match="nothing was saved"):
        desk.click("two", StepClick(1))
    assert [sheet.step for sheet in read_sheets(study.folder, study.packet)] == [0]


def test_no_one_can_hand_over_for_someone_else(desk: Desk) -> None:
    desk.sit("one", "Anna")
    desk.leave("two")
    assert desk.sheet("one") is not None


def test_a_desk_left_without_a_word_can_be_freed(desk: Desk) -> None:
    desk.sit("one", "Anna")
    desk.clear()
    desk.sit("two", "Ben")
    with pytest.raises(DeskOccupied):
        desk.click("one", StepClick(1))


def test_the_terminal_hears_how_far_people_are(desk: Desk, study: Study, lines: list[str]) -> None:
    desk.sit("one", "Anna")
    desk.click("one", RankingClick(0, study.codes))
    desk.click("one", StepClick(3))
    desk.click("one", FinishClick())
    assert lines == [
        "Anna sits down: 0 of 4 steps done",
        "Anna goes on: 1 of 4 steps done",
        "Anna has finished: 1 of 4 steps done",
    ]


steady = settings(derandomize=True)

OURS = {
    *("p", "br", "hr", "h3", "h4", "h5", "h6", "ul", "ol", "li", "blockquote"),
    *("pre", "code", "strong", "em", "div", "table", "thead", "tbody", "tr"),
    *("th", "td"),
}
_PIECES = (
    *("# ", "## ", "- ", "1. ", "3) ", "> ", "```\n", "~~~", "**", "*", "_", "`", "|", "|---|\n"),
    *(
        "<script>",
        "</script>",
        "<b onclick='x'>",
        "&amp;",
        "&#60;",
        "javascript:",
        "[a](b)",
        "![a](b)",
    ),
    *("\n", "\n\n", "    ", "\t", "\\", "word ", "é", "-----", "\x0b", "\x1b[1m"),
)
markdown = st.lists(st.one_of(st.sampled_from(_PIECES), st.text(max_size=4)), max_size=40).map(
    "".join
)


class Reader(HTMLParser):
    """Reads a page as a browser would: elements, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.attributes: set[tuple[str, str | None]] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.elements.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        """Text between elements."""
        self.text += data


def read(html: str) -> Reader:
    """A page, read."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    return reader


@steady
@given(markdown)
def test_whatever_a_text_says_only_our_own_elements_come_out(text: str) -> None:
    found = read(render(text))
    assert found.elements <= OURS
    for name, value in found.attributes:
        assert (name, value) == ("class", "wide") or (name == "start" and (value or "").isdigit())


@steady
@given(markdown)
def test_no_word_is_lost(text: str) -> None:
    letters = [sign for sign in without_controls(text) if sign.isalpha()]
    shown = read(render(text)).text
    # The rest of a fence's first line names a language, and a terminal's escapes are dropped.
    if "```" not in text and "~~~" not in text and "\x1b" not in text:
        assert [sign for sign in shown if sign.isalpha()] == letters


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "One *two* **three** `four`",
            "<p>One <em>two</em> <strong>three</strong> <code>four</code></p>",
        ),
        ("# One\n## Two", "<h3>One</h3><h4>Two</h4>"),
        (
            "- one\n- two\n  - deep\n- three",
            "<ul><li>one</li><li>two<ul><li>deep</li></ul></li><li>three</li></ul>",
        ),
        ("3. one\n4. two", '<ol start="3"><li>one</li><li>two</li></ol>'),
        ("- one\n\n- two\n\nAfter", "<ul><li><p>one</p></li><li><p>two</p></li></ul><p>After</p>"),
        ("> said\n> twice", "<blockquote><p>said<br>twice</p></blockquote>"),
        ("```py\na < b\n```\nAfter", "<pre><code>a &lt; b</code></pre><p>After</p>"),
        ("One\n\n---\n\nTwo", "<p>One</p><hr><p>Two</p>"),
        ("Roses\nare red", "<p>Roses<br>are red</p>"),
        ("word " * 12 + "end\nof it", "<p>" + "word " * 12 + "end of it</p>"),
        ("snake_case_name and 2 * 3 * 4", "<p>snake_case_name and 2 * 3 * 4</p>"),
        ("| a |\n|---|\n| 1 | 2 |", "<p>| a |<br>|---|<br>| 1 | 2 |</p>"),
        ("\\*not\\* so", "<p>*not* so</p>"),
        ("see [us](https://a.b)", "<p>see [us](https://a.b)</p>"),
        ("![us](https://a.b)", "<p>![us](https://a.b)</p>"),
        ("<https://a.b>", "<p>&lt;https://a.b&gt;</p>"),
        ("[us]\n\n[us]: https://a.b", "<p>[us]</p><p>[us]: https://a.b</p>"),
        (
            "| a | b |\n|---|---|\n| 1 | **2** |",
            '<div class="wide"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
            "<tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>",
        ),
        ("a\u202eb\u2066c\u200f", "<p>a&lt;U+202E&gt;b&lt;U+2066&gt;c&lt;U+200F&gt;</p>"),
        ("<b>bold?</b> &amp;", "<p>&lt;b&gt;bold?&lt;/b&gt; &amp;amp;</p>"),
    ],
)
def test_markdown_is_shown_as_it_is_meant(text: str, html: str) -> None:
    assert render(text).replace("\n", "") == html


def test_deep_nesting_comes_to_an_end() -> None:
    assert "word" in render("> " * 500 + "word")
    assert "word" in render("\n".join(" " * (2 * n) + "- word" for n in range(200)))


def test_tables_that_stay_as_written_take_no_longer_than_they_are() -> None:
    assert render("|a|\n|---|\n|b|c|\n" * 2000).count("c") == 2000


def test_emphasis_within_emphasis_comes_to_an_end() -> None:
    assert "x" in render("*" * 8000 + " x")
