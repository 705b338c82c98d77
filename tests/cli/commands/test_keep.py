"""`run --draft`: facts of the draft stay, and what is not from the user is listed."""

from __future__ import annotations

import pytest
from tests.cli.inside import Inside

DRAFT = """# Note

The trip to Lisbon costs 250 EUR per person. It is on 3 March 2027.
Book at https://example.org/trip, said Maria Costa: “nobody should miss the view from there”.
"""
MODEL = """
from tests.tournament.stage import critique, document, vote
from autoreason.testing import ScriptedModel

SENTENCE = "The trip to Lisbon costs 300 EUR per person. It is on 5 March 2027."

class Model(ScriptedModel):
    def __init__(self, address):
        script = {
            "author": document("# Note\\n\\nAn outing to Lisbon, at 10,660 euros."),
            "critic": critique("It is dull."),
            "reviser": document("# Note\\n\\n" + SENTENCE + " Book soon, somebody said, or miss it."),
            "synthesizer": document("# Note\\n\\n" + SENTENCE + " Book soon."),
            "judge": vote("300", "250"),
        }
        super().__init__(script, address=address)
"""
RUN = ("run", "Improve this note", "-m", "model.py:Model/any", "--seed", "7", "--rounds", "2")
CHECK = "Not from you, please check: 300 EUR · 5 March 2027"


@pytest.fixture
def edited(inside: Inside) -> Inside:
    inside.write("model.py", MODEL)
    inside.write("draft.md", DRAFT)
    return inside


def test_a_text_that_changes_the_facts_of_a_draft_is_not_delivered(edited: Inside) -> None:
    said = edited(*RUN, "--draft", "draft.md")
    assert said.out == DRAFT
    limits, *lines = said.err.splitlines()
    assert limits == "Limits     keeps 6 figures, dates, quotations, links and names of your draft"
    assert "You have your draft: in 2 rounds no rewrite could stand (it breaks a limit)." in lines
    shown = " ".join(edited("show", "--round", "1").out.split())
    assert "“250 EUR” became “300 EUR”" in shown
    assert "“nobody should miss the view from there” is missing" in shown
    assert edited("show", "--json").json["not_from_you"] == []
    assert edited("show", "--html", "page.html").status == 0
    page = (edited.folder / "page.html").read_text("utf-8")
    assert "Keeps 6 figures, dates, quotations, links and names of your draft" in page
    assert "please check" not in page


def test_what_is_not_from_the_user_is_listed_at_the_end_and_with_its_sentences(
    edited: Inside,
) -> None:
    said = edited(*RUN, "--draft", "draft.md", "--no-keep", "--html", "page.html", "-o", "text.md")
    assert "300 EUR" in (edited.folder / "text.md").read_text()
    ending = said.err[: said.err.index("\n\nautoreason")].splitlines()[-5:]
    assert ending[-2] == CHECK
    assert CHECK in edited("show").out
    sentence = "The trip to Lisbon costs 300 EUR per person."
    assert sentence in edited("show", "--evidence").out.partition("Not from you, please check\n")[2]
    page = (edited.folder / "page.html").read_text("utf-8")
    assert f'<b>300 EUR</b> <span class="muted">{sentence}</span>' in page
    first, _ = edited("show", "--json").json["not_from_you"]
    assert first == {"kind": "money", "text": "300 EUR", "sentence": sentence}


def test_a_fork_keeps_what_its_run_kept_and_nothing_by_itself(edited: Inside) -> None:
    edited(*RUN, "-q")
    assert edited("fork", "last", "--rounds", "1", "--max-words", "90", "-q").status == 0
    shown = edited("show", "--json").json
    assert shown["task"]["contract"]["keep"] == []
    # What a model wrote before is no more from the user than before.
    assert shown["not_from_you"]
    edited(*RUN, "--draft", "draft.md", "-q")
    forked = edited("fork", "last", "--rounds", "1", "--max-words", "90", "--json", "-q").json
    assert "250 EUR" in forked["text"]
