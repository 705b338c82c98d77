"""Sentences and tables fit the screen, with whole words and numbers."""

from __future__ import annotations

import csv
import io
from decimal import Decimal

from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len
from tests.cases import cases

from autoreason.report.table import Column, Figure, Table, figures, to_csv, wrap
from autoreason.stats import Estimate

NUMBERS = (
    *("33 %", "under 1 %", "over 99 %", "3 min 12 s", "4.1 s", "1,200.5 MB", "2 h 05 min"),
    *("p = 0.041", "p < 0.001"),
)
PLAIN = st.text("abcdefgh", min_size=1, max_size=9)
LINES = st.lists(st.sampled_from(NUMBERS) | PLAIN, min_size=1, max_size=30)


@given(LINES, st.integers(20, 100))
@example(["first", "places:", "33 %", "/", "33 %", "/", "34 %", "of", "9"], 24)
def test_a_number_stays_with_its_unit_in_a_sentence(words: list[str], width: int) -> None:
    sentence = " ".join(words)
    lines = wrap(sentence, width)
    assert " ".join(lines) == sentence
    assert all(len(line) <= width for line in lines)
    for number in NUMBERS:
        assert sum(line.count(number) for line in lines) >= words.count(number)


@cases("width", range(12, 40))
def test_a_number_stays_with_its_unit_in_a_table(width: int) -> None:
    columns = [Column("per ballot (95 % for all)"), Column("note", figures=False)]
    table = Table(columns, [("2.4", "it took 3 min 12 s of the 5 min that were left")])
    shown = table.to_text(width)
    for number in ("(95 %", "3 min 12 s", "5 min"):
        assert number in shown


WORDS = st.text("abcdefgé漢", min_size=1, max_size=9)
SENTENCES = st.lists(WORDS, min_size=1, max_size=8).map(" ".join)
FIGURES = st.from_regex(r"[0-9]{1,4} \([0-9]{1,2} to [0-9]{1,2}\)", fullmatch=True)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    """A column of words, and some of figures, of which some can be spared."""
    figures = draw(st.integers(1, 6))
    spare = draw(st.lists(st.integers(0, 3), min_size=figures, max_size=figures))
    columns = [
        Column(draw(SENTENCES), figures=False),
        *(Column(draw(SENTENCES), spare=each) for each in spare),
    ]
    row = st.tuples(SENTENCES, *[FIGURES] * figures)
    return Table(columns, draw(st.lists(row, min_size=1, max_size=4)))


def words(text: object) -> set[str]:
    return set(str(text).split())


@given(tables(), st.integers(50, 160))
def test_no_line_is_wider_than_the_terminal_no_figure_is_cut_and_no_word_is_broken(
    table: Table, width: int
) -> None:
    text = table.to_text(width)
    lines = [each for each in text.splitlines() if not each.startswith("on a wider terminal")]
    assert all(cell_len(line) <= width for line in lines)
    for at, column in enumerate(table.columns):
        gone = column.spare and column.title in text.split("on a wider terminal also: ")[-1]
        for row in table.rows:
            assert gone or not column.figures or str(row[at]) in text
            assert gone or words(row[at]) <= words(text)


@given(tables())
def test_a_reader_without_a_screen_and_a_spreadsheet_get_every_column(table: Table) -> None:
    text = table.to_text()
    assert "on a wider terminal" not in text
    assert all(words(cell) <= words(text) for row in table.rows for cell in row)
    lines = table.to_markdown().splitlines()
    assert len({cell_len(line) for line in lines}) == 1
    assert len(lines) == len(table.rows) + 2
    _, *rows = csv.reader(io.StringIO(to_csv([""], table.rows)))
    assert rows == [list(row) for row in table.rows]


def test_numbers_for_a_spreadsheet_are_whole_and_only_texts_are_kept_from_being_formulas() -> None:
    values = ("+1", "\0 =1", -0.1 - 0.2, 3, Decimal("0.10"), None, True)
    assert to_csv(["a"], [values]) == "a\n'+1,'=1,-0.30000000000000004,3,0.10,,yes\n"


def test_spare_columns_go_in_their_order_and_are_named_and_others_follow_beneath() -> None:
    spare = [Column("first", spare=1), Column("second", spare=2)]
    columns = [Column("name", figures=False), *spare, Column("always")]
    table = Table(columns, [("x", "1" * 20, "2" * 20, "3" * 20)])
    assert "on a wider" not in table.to_text(70)
    assert "on a wider terminal also: first" in table.to_text(60)
    assert "on a wider terminal also: first, second" in table.to_text(40)
    columns = [Column("name", figures=False), *(Column(f"c{at}") for at in range(4))]
    text = Table(columns, [("row", *("9" * 15 for _ in range(4)))]).to_text(40)
    assert text.count("row") == 2
    assert text.count("9" * 15) == 4


def test_a_long_name_keeps_its_end_and_a_cell_may_have_several_lines() -> None:
    row = ("a/very/long/folder/name/of/texts/draft_12.md", "1" * 20)
    table = Table([Column("text", figures=False), Column("points")], [row])
    assert "draft_12.md  " in table.to_text(50)
    columns = [Column(each, figures=False) for each in ("level", "finding")]
    table = Table(columns, [("alarm", ("one two", "three"))])
    assert table.to_text().splitlines()[1:] == ["alarm  one two", "       three"]
    assert "one two<br>three" in table.to_markdown()
    assert "one two<br>three" in table.to_html()


def test_nothing_in_a_cell_or_a_heading_acts() -> None:
    table = Table([Column("<b>\x1b[31m\u202e", figures=False)], [("=1+1|<script>\x1b[31m",)])
    shown = table.to_text() + table.to_markdown() + table.to_html()
    assert not {"\x1b", "\u202e"} & {*shown}
    assert "<script>" not in table.to_markdown() + table.to_html()
    assert "\\|" in table.to_markdown()
    assert to_csv(["<b>"], table.rows).startswith("<b>\n'=1+1|<script>")


def test_a_tone_colours_a_cell_on_a_terminal_and_on_a_page() -> None:
    table = Table([Column("", figures=False)], [("alarm",)], tones={"alarm": "bad"})
    *_, line = table.to_rich()
    assert "bold red" in str(line.spans)
    assert '<td class="bad">alarm</td>' in table.to_html()


def test_values_are_shown_to_people_and_given_in_full_to_programs() -> None:
    share = Figure(Estimate(0.125, 0.1, 0.2), ("12 %", "(10 to 20)"))
    columns = [
        *(Column(each, figures=False) for each in ("arm", "won by")),
        *figures("share", "calls", "cost"),
    ]
    rows = [("a_1", ("B", "AB"), share, 1200, 0.25), ("=b", True, None, None, Decimal("0.5"))]
    table = Table(columns, rows, "All 100 %")
    assert table.to_csv().splitlines() == [
        "arm,won_by,share,share_low,share_high,calls,cost",
        "a_1,B AB,0.125,0.1,0.2,1200,0.25",
        "'=b,yes,,,,,0.5",
    ]
    assert table.cells == [
        ["a_1", ("B", "AB"), ("12 %", "(10 to 20)"), "1,200", "0.25"],
        ["=b", "yes", "–", "–", "0.5"],
    ]
    assert table.to_latex().splitlines() == [
        "% All 100 \\%",
        "\\begin{tabular}{llrrr}",
        "\\hline",
        "arm & won by & share & calls & cost \\\\",
        "\\hline",
        "a\\_1 & B AB & 12 \\% (10 to 20) & 1,200 & 0.25 \\\\",
        "=b & yes & – & – & 0.5 \\\\",
        "\\hline",
        "\\end{tabular}",
    ]
