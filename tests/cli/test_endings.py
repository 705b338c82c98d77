"""What commands end with: three lines, a fourth to check, a fifth for what went wrong; on a terminal and piped."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable

import pytest
from tests.cli.conftest import NO_END, VOTES
from tests.cli.inside import Inside

MODEL = """
from tests.tournament.stage import critique, cut_off, document, vote
from autoreason.errors import ProviderFailed
from autoreason.testing import ScriptedModel

SCRIPT = {
    "author": document("First text of them all."),
    "critic": critique("It lacks an example."),
    "reviser": lambda request: document(f"Second text, made in {chr(96 + int(request.key.split('/')[1]))}."),
    "synthesizer": lambda request: document(f"Third text, made in {chr(96 + int(request.key.split('/')[1]))}."),
    "judge": vote("made in a.", "First", "Second", "Third"),
}

def seat(request):
    return int(request.key.split("/judge/")[1].split("/")[0])

class Model(ScriptedModel):
    def __init__(self, address):
        super().__init__(SCRIPT, address=address)
"""
OTHERWISE = {
    "preferred": "",
    "cannot be told": """
SCRIPT["confirmation/*"] = lambda r: vote(*["made in a", "First"][:: 1 if seat(r) % 2 else -1])(r)
""",
    "draft preferred": 'SCRIPT["confirmation/*"] = vote("First")',
    "draft kept": 'SCRIPT["judge"] = vote("First")',
    "nothing to fix": """SCRIPT["critic"] = '{"problems": []}'""",
    "nothing there": """
SCRIPT["critic"] = critique("It is dull.").replace("missing", "quote").replace('e": ""', 'e": "Dull"')
""",
    "the same again": 'SCRIPT["reviser"] = document("Second text, made in a.")',
    "unreadable": 'SCRIPT["judge"] = "I cannot say."',
    "not read": 'SCRIPT["confirmation/*"] = "I cannot say."',
    "much longer": """
SCRIPT["critic"] = critique("It is dull.").replace("missing", "quote").replace('e": ""', 'e": "First"')
SCRIPT["reviser"] = document("Second text, made in a. It says very much more than it did.")
""",
    "longer": """
SCRIPT["reviser"] = document("Second text, made in a. It says very much more than it did.")
SCRIPT["synthesizer"] = document("Third text.")
""",
    "cut off": 'SCRIPT["draft/try/0"] = cut_off()',
    "fails": 'SCRIPT["pass/2/*"] = ProviderFailed("my/model answers 429 (too many requests)")',
}
SHORT = ("--rounds", "4", "--set", "review_every=2")
FIVE = (*SHORT, "--set", "confirmation=5")
RUN = ("run", "Write of tides", "-m", "model.py:Model/any", "--seed", "7")
STYLES = re.compile(r"\x1b\[[0-9;]*m")
Ends = Callable[..., list[str]]


@pytest.fixture(params=["piped", "terminal"])
def ends(request: pytest.FixtureRequest, inside: Inside, monkeypatch: pytest.MonkeyPatch) -> Ends:
    """A run by such a model: the lines after its account, with one time."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr("autoreason.journal.run_names.new_name", lambda _: "20261117-solar-vole")
    if request.param == "terminal":
        monkeypatch.setenv("FORCE_COLOR", "1")

    def run(otherwise: str, *options: str, status: int = 0) -> list[str]:
        inside.write("model.py", MODEL + OTHERWISE[otherwise])
        said = inside(*RUN, *options, "--progress", "lines")
        assert said.status == status, said.err
        shown = STYLES.sub("", said.err)
        account, lines = [], shown.splitlines()
        while lines and re.match(r"\s|\d+:\d\d |(?:Limits|Expect|Judges) ", lines[0]):
            account.append(lines.pop(0))
        assert account
        assert all(len(line) <= 80 for line in lines)
        if request.param == "terminal":
            assert f"\x1b[1m{lines[0]}\x1b[0m" in said.err
        return [re.sub(r"\b(\d+ min )?[\d.]+ s\b", "1 s", line) for line in lines]

    return run


NEXT = ["", "autoreason show --diff    what changed        autoreason view last   as a page"]
PAGE = ["", "autoreason view last   as a page"]
ONE_MODEL = ["All judges are model.py:Model/any, asked 9 times: no other model was asked."]


def test_fresh_judges_prefer_it_and_later_texts_no_longer_come_first(ends: Ends) -> None:
    assert ends("preferred") == [
        "9 of 9 fresh judges prefer it to the first draft.",
        "Stopped after 15 rounds: later texts no longer ranked above that of round 1.",
        "5 → 5 words · 61 calls, $0.00, 1 s · solar-vole",
        *ONE_MODEL,
        *NEXT,
    ]


PREFER = "9 of 9 fresh judges prefer it to"
PREFERRED = f"{PREFER} the first draft."
TIED = "Too close to call: 5 of 9 fresh judges prefer the first draft to it."
DRAFT = "You have the first draft:"
MOST = "Stopped after 4 rounds, the most allowed"
CUT = "Stopped after 2 rounds, the most allowed; it was not yet kept 3 times in a row."
ROW = "Stopped after 4 rounds: 3 times in a row"
UNREAD = "is unknown: too few of their answers could be read."
GREW = "no rewrite could stand (it is much longer, and nothing was missing)"


@pytest.mark.parametrize(
    ("otherwise", "options", "lines"),
    [
        ("preferred", SHORT, f"{PREFERRED} {MOST}."),
        ("the same again", (), f"{PREFERRED} {ROW} there was no new text."),
        ("much longer", SHORT, f"{DRAFT} in 4 rounds {GREW}. {MOST}."),
        ("nothing to fix", (), f"{DRAFT} in 3 rounds critics found nothing to fix. 5 words · 7 "),
        (
            "nothing there",
            (),
            f"{DRAFT} in 3 rounds critics named no fault that is in the text. 5 w",
        ),
        ("unreadable", SHORT[:2], f"{DRAFT} too few rankings of the review could be read."),
        ("not read", SHORT, f"Whether fresh judges prefer it to the first draft {UNREAD}"),
        ("preferred", FIVE, f"Too few to tell: {PREFERRED.replace('9', '5')}"),
        ("preferred", VOTES, f"{PREFERRED} {ROW} no rewrite and no merge beat it."),
        ("preferred", (*VOTES, "--rounds", "2"), f"{PREFERRED} {CUT}"),
        (
            "draft kept",
            VOTES,
            f"{DRAFT} in 3 rounds no rewrite and no merge beat it. 5 words · 18 ",
        ),
        ("draft preferred", SHORT, f"{DRAFT} {PREFER} the text it had become. {MOST}. 5 words"),
        ("draft kept", SHORT, f"{DRAFT} the last review put it first of 3 texts. {MOST}. 5 words"),
        ("cannot be told", (), TIED),
    ],
)
def test_why_it_stopped(ends: Ends, otherwise: str, options: tuple[str, ...], lines: str) -> None:
    assert " ".join(ends(otherwise, *options)).startswith(lines)


def test_a_limit_is_reached(ends: Ends) -> None:
    assert ends("preferred", "--call-limit", "10", *NO_END, status=3) == [
        "Paused at your limit of 10 calls, in round 5 of 40. You have the text of round",
        "4.",
        "Whether fresh judges prefer it to the first draft was not asked yet.",
        "5 → 5 words · 10 calls, $0.00, 1 s · solar-vole",
        "autoreason resume solar-vole --call-limit 15   goes on; nothing is paid twice",
    ]


def test_reviews_cannot_be_read(ends: Ends) -> None:
    said = "Paused after 1 s: too few rankings of two reviews in a row could be read."
    # What follows stands on the same line if the run took long enough to be told in whole seconds.
    assert ends("unreadable", *SHORT, status=5)[0].startswith(said)


def test_another_round_would_not_fit(ends: Ends) -> None:
    said = "Paused: a round would not fit your limit of 19 calls. You have the first draft."
    assert ends("cut off", "--call-limit", "19", status=3)[0] == said


def test_no_draft_keeps_the_limits(ends: Ends) -> None:
    assert ends("preferred", "--section", "Risks") == [
        "Not refined: 10 drafts, none keeps the limits (no heading “Risks”).",
        "20 calls, $0.00, 1 s · solar-vole. This is the draft that comes closest.",
        "Change the model or the limit; --anyway refines it all the same.",
        *PAGE,
    ]


def test_it_is_refined_anyway_and_says_that_it_breaks_a_limit(ends: Ends) -> None:
    lines = ends("preferred", "--section", "Risks", "--anyway", "--rounds", "1")
    first = "Whether fresh judges prefer it to the draft it began from was not asked: the"
    assert lines[:2] == [first, "draft it began from breaks its limits."]
    assert " · limits broken · " in lines[3]
    assert lines[4] == "It breaks a limit: no heading “Risks”; none of 11 texts kept them all."


def test_what_to_type_next_names_the_journal_that_was_named(ends: Ends, inside: Inside) -> None:
    *_, diff, page = ends("preferred", "--journal", "my own.db")
    assert diff == "autoreason show --journal 'my own.db' --diff    what changed"
    assert page == "autoreason view --journal 'my own.db' last   as a page"
    assert inside(*shlex.split(diff.partition("   ")[0])[1:]).status == 0
    refused = inside("show", "nothing", "--journal", "my own.db").sentence
    assert refused == "no run 'nothing'; see `autoreason runs --journal 'my own.db'`"


def test_the_provider_fails(ends: Ends) -> None:
    assert ends("fails", status=4) == [
        "Paused after 1 s: my/model answers 429 (too many requests). Round 2 of 40.",
        "3 calls, $0.00, all kept · solar-vole · autoreason resume solar-vole goes on",
    ]


def test_a_result_much_longer_than_the_draft(ends: Ends) -> None:
    lines = ends("longer")
    assert lines[3:5] == [
        *ONE_MODEL,
        "It is 160 % longer, and these judges like length: see show --evidence.",
    ]


@pytest.mark.parametrize(
    ("otherwise", "options", "said"),
    [
        ("preferred", (), ""),
        ("fails", (), "autoreason: paused: the provider failed: "),
        ("preferred", ("--section", "Risks"), "autoreason: the text breaks a limit ("),
    ],
)
def test_where_all_is_quiet_one_line_says_what_went_wrong(
    inside: Inside, otherwise: str, options: tuple[str, ...], said: str
) -> None:
    inside.write("model.py", MODEL + OTHERWISE[otherwise])
    found = inside(*RUN, *options, "-q")
    assert found.err.startswith(said)
    assert len(found.err.splitlines()) == bool(said)


@pytest.mark.parametrize(
    ("judge", "lines"),
    [
        (
            "lambda r: vote('gamma', *['alpha', 'beta'][:: 1 if seat(r) % 2 else -1])(r)",
            [
                "Judges prefer c.md: 7 of 7 rankings put it first.",
                "Then b.md, then a.md; between these nothing is shown.",
            ],
        ),
        (
            "lambda r: vote(*['alpha', 'beta', 'gamma'][seat(r) % 3 :], 'alpha')(r)",
            [
                "No text is shown to be preferred: a.md leads, first in 3 of 7 rankings.",
                "To tell two texts apart takes about 7 of 7 rankings; with --judges 21 about 17.",
            ],
        ),
    ],
)
def test_a_panel_prefers_a_text_or_says_what_so_many_judges_could_show(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, judge: str, lines: list[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    inside.write("model.py", f'{MODEL}\nSCRIPT["judge"] = {judge}\n')
    texts = [inside.write(f"{word[0]}.md", word) for word in ("alpha", "beta")]
    panel = ("-m", "model.py:Model/any", "--judges", "7", "--seed", "1", "-q")
    said = inside("judge", "Write", *texts, inside.write("c.md", "gamma"), *panel)
    assert said.out.splitlines()[: len(lines)] == lines
    assert "All judges are model.py:Model/any, asked 7 times · 7 calls, " in said.out
