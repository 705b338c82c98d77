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
from tests.cases import cases
from tests.patience import PATIENCE
from tests.studies.raters.conftest import Study
from tests.studies.raters.serving import Caller, Served, serve_apart, serve_packet

from autoreason.characters import without_controls
from autoreason.errors import InvalidInput
from autoreason.report.page import render
from autoreason.studies.rating_packet import open_key, plan, read_sheets
from autoreason.studies.rating_server import Server
from autoreason.studies.ratings import conclude


@pytest.fixture(scope="module")
def shared_study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A packet for tests that leave nothing behind."""
    return Study(tmp_path_factory.mktemp("served") / "study")


@pytest.fixture(scope="module")
def shared_server(shared_study: Study) -> Iterator[Served]:
    with serve_packet(shared_study.folder) as served:
        yield served


@pytest.fixture
def served(shared_server: Served) -> Iterator[Served]:
    """A server whose desk is free before and after."""
    yield shared_server
    Caller(shared_server).post("/api/clear", {})


def test_the_page_comes_whole_from_this_machine(served: Served) -> None:
    scripts = ("/page.js", "/steps.js", "/parts.js", "/desk.js")
    for path, kind in {"/": "html", "/page.css": "css", **dict.fromkeys(scripts, "script")}.items():
        reply = served.ask("GET", path)
        assert reply.status == 200
        assert kind in reply.headers["Content-Type"]
        assert "https://" not in reply.text
        assert "http://" not in reply.text
        policy = reply.headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["X-Content-Type-Options"] == "nosniff"


def test_a_foreign_name_for_this_machine_or_anything_else_is_refused(served: Served) -> None:
    for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", ""):
        reply = served.ask("GET", "/api/state", Host=host)
        assert reply.status in (400, 403)
        assert "token" not in reply.text
    assert served.ask("GET", "/api/state", Host=f"localhost:{served.port}").status == 200
    for path in ("/key.sealed", "/packet.json", "/../packet.json", "/page/../key.sealed", "/api"):
        assert served.ask("GET", path).status == 404
    assert served.ask("DELETE", "/api/state").status == 403
    with socket.socket() as other:
        other.settimeout(2)
        # Every address of loopback leads to this machine, but only one is ours.
        with pytest.raises(OSError, match=r"refused|timed out|unreachable|assign"):
            other.connect(("127.0.0.2", served.port))


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


def test_a_rater_sees_the_texts_in_the_order_of_their_seat_and_no_source(
    served: Served, shared_study: Study
) -> None:
    shown = Caller(served).sit("Anna")
    assert not any(
        word in shown.text for word in ("a.md", "b.md", "c.md", "toast.md", "orders_seed")
    )
    (seat,) = [
        s.seat for s in read_sheets(shared_study.folder, shared_study.packet) if s.rater == "Anna"
    ]
    expected = plan(shared_study.packet, seat)
    steps = shown.value["sheet"]["plan"]
    assert [tuple(step["codes"]) for step in steps] == [step.codes for step in expected]


def test_one_browser_at_a_time_writes_and_what_does_not_fit_is_refused(served: Served) -> None:
    one, two = Caller(served, "one"), Caller(served, "two")
    bodies: tuple[object, ...] = ({"rater": 5}, [], {"type": "scored"})
    for body in bodies:
        assert one.post("/api/sit", body).status == 400
    assert one.post("/api/sit", {"rater": "Eve"}, Content_Type="text/plain").status == 400
    assert one.state()["desk"] is None
    one.sit("Anna")
    refused = two.sit("Ben")
    assert (refused.status, refused.value["error"]) == (
        409,
        "Anna is rating now, in another window",
    )
    assert (two.state()["desk"]["rater"], two.state()["sheet"]) == ("Anna", None)
    assert two.click("went", step=1).status == 409
    two.post("/api/leave", {})
    assert one.click("scored", code="NONE", line="clarity", score=3).status == 400
    assert one.click("jumped").status == 400
    assert one.click("went", step=1).status == 200
    two.post("/api/clear", {})
    assert two.sit("Ben").status == 200
    assert one.click("went", step=2).status == 409


def test_a_kill_loses_no_confirmed_click_and_ctrl_c_says_what_is_next(study: Study) -> None:
    clicks = dict(zip(study.codes, (1, 2, 3), strict=True))
    with serve_apart(study.folder) as served:
        with pytest.raises(InvalidInput, match=f"is being rated at {served.url};"):
            conclude(study.folder)
        caller = Caller(served)
        caller.sit("Anna")
        for code, score in clicks.items():
            assert caller.click("scored", code=code, line="clarity", score=score).status == 200
        assert served.process
        served.process.kill()
    with serve_apart(study.folder) as served:
        sheet = Caller(served).sit("Anna").value["sheet"]
        assert sheet["scores"] == {code: {"clarity": score} for code, score in clicks.items()}
        assert served.process
        served.process.send_signal(signal.SIGINT)
        _, message = served.process.communicate(timeout=PATIENCE)
        assert served.process.returncode == 0
    assert "Anna sits down: 0 of 4 steps done" in message
    assert "1 person has rated, 0 finished; next: autoreason rate report" in message


def test_a_name_may_be_given_and_a_port_in_use_is_named(study: Study, two_tasks: Study) -> None:
    with serve_packet(study.folder, rater="Anna Bell") as served:
        assert Caller(served).sit("Somebody else").value["sheet"]["rater"] == "Anna Bell"
        with (
            pytest.raises(InvalidInput, match=f"cannot listen on port {served.port}: "),
            serve_packet(two_tasks.folder, served.port),
        ):
            pass
        with serve_packet(two_tasks.folder) as other:
            assert other.port != served.port


def test_a_packet_that_cannot_be_rated_blind_is_refused(study: Study, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is not a packet; make one with"):
        Server(tmp_path)
    path = study.folder / "task-1" / f"{study.codes[1]}.md"
    text = path.read_text()
    path.write_text("Something else")
    with pytest.raises(InvalidInput, match=f"{path} is not what it was"):
        Server(study.folder)
    path.write_text(text)
    open_key(study.folder, study.packet, datetime(2026, 5, 1, 12, tzinfo=UTC))
    with pytest.raises(InvalidInput, match="no one can rate it blind any more"):
        Server(study.folder)


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
        self.elements.add(tag)
        self.attributes.update(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def read(html: str) -> Reader:
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


@cases(
    ("text", "html"),
    [
        (
            "One *two* **three** `four`",
            "<p>One <em>two</em> <strong>three</strong> <code>four</code></p>",
        ),
        ("# One\n## Two", "<h3>One</h3><h4>Two</h4>"),
        ("## One\n## Two", "<h3>One</h3><h3>Two</h3>"),
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
            '<div class="wide" tabindex="0"><table><thead><tr><th>a</th><th>b</th></tr></thead>'
            "<tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>",
        ),
        ("a\u202eb\u2066c\u200f", "<p>a&lt;U+202E&gt;b&lt;U+2066&gt;c&lt;U+200F&gt;</p>"),
        ("<b>bold?</b> &amp;", "<p>&lt;b&gt;bold?&lt;/b&gt; &amp;amp;</p>"),
    ],
)
def test_markdown_is_shown_as_it_is_meant(text: str, html: str) -> None:
    assert render(text).replace("\n", "") == html


def test_whatever_is_nested_or_stays_as_written_comes_to_an_end() -> None:
    assert "word" in render("> " * 500 + "word")
    assert "word" in render("\n".join(" " * (2 * n) + "- word" for n in range(200)))
    assert render("|a|\n|---|\n|b|c|\n" * 500).count("c") == 500
    assert "x" in render("*" * 8000 + " x")
