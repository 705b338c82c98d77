"""Tables as mail and campaign tools export them."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.errors import InvalidInput
from autoreason.knowledge.columns import Columns
from autoreason.knowledge.tables import TableReading, read_table
from autoreason.knowledge_records import Record, RecordedOutcome

MAILS = """\
Title,Subject,List,Send Date,Total Recipients,Successful Deliveries,Unique Opens,Open Rate,Unique Clicks
t1,Last call,News,"Mar 05, 2024 10:30 am","2,200","2,100",798,38.00%,21
t2,One more day,News,"Mar 06, 2024 10:30 am","2,200","2,000",480,24.00%,30
"""


def read(body: str, name: str = "mails.csv", encoding: str = "utf-8", **given: str) -> TableReading:
    """A table with these columns named."""
    return read_table(name, body.encode(encoding), Columns(**given))


def test_an_export_is_understood_without_a_word() -> None:
    found = read(MAILS)
    assert found.problems == []
    assert found.columns == Columns(
        text="Subject",
        value="Open Rate",
        n="Successful Deliveries",
        count="Unique Opens",
        when="Send Date",
        group="List",
    )
    first = found.records[0]
    assert (first.text, first.group, first.when) == ("Last call", "News", "2024-03-05T10:30")
    assert first.result == RecordedOutcome(metric="open rate", value=0.38, n=2100, better="higher")
    assert first.source == "mails.csv:2"
    assert first.chosen == "unknown"


@pytest.mark.parametrize(
    ("encoding", "sign"), [("utf-8-sig", ";"), ("utf-16-le", "\t"), ("latin-1", ",")]
)
def test_encodings_and_separators_do_not_matter(encoding: str, sign: str) -> None:
    rows = [
        ["Betreff", "Öffnungsrate", "Versendet", "Kampagne", "Datum"],
        ["Nur für Sie", '"38,5 %"', '"2.100"', "Frühling", "05.03.2024"],
        ["Letzte Chance", '"9,25 %"', '"1.900"', "Frühling", "05.03.2024"],
    ]
    found = read("\r\n".join(sign.join(row) for row in rows), "k.csv", encoding)
    assert found.problems == []
    assert [record.text for record in found.records] == ["Nur für Sie", "Letzte Chance"]
    results = [record.result for record in found.records]
    assert [(r.value, r.n) for r in results if r] == [(0.385, 2100), (0.0925, 1900)]
    assert {record.group for record in found.records} == {"Frühling"}
    assert {record.when for record in found.records} == {"2024-03-05"}


def test_lines_that_cannot_be_used_are_named_and_the_rest_works() -> None:
    found = read(
        "subject,opens,sent\nA,10,100\n,5,100\nB,many,100\nC,,100\nD,7,0\nE,7,100\nF,1,234,900\n"
    )
    assert [record.text for record in found.records] == ["A", "E"]
    assert found.problems == [
        "mails.csv, line 8: it has more cells than columns; quote what has a ',' in it",
        "mails.csv, line 3: there is no text",
        "mails.csv, line 4: 'many' is not a number",
        "mails.csv, line 5: nothing says how the text did: no opens",
        "mails.csv, line 6: nothing says how the text did: sent is 0",
    ]


def test_what_is_named_comes_before_what_is_guessed() -> None:
    given = {"text": "Title", "count": "Unique Clicks", "n": "Total Recipients", "chosen": "ab"}
    record = read(MAILS, **given, better="lower", metric="Clicks").records[0]
    assert record.text == "t1"
    assert record.result == RecordedOutcome(
        metric="clicks", value=21 / 2200, n=2200, better="lower"
    )
    assert record.chosen == "ab"
    with pytest.raises(InvalidInput, match=r"no column 'Betreff', which kb\.toml names"):
        read(MAILS, text="Betreff")


def test_things_seen_are_clicked_mails_opened_and_a_rate_stands_in_for_counts() -> None:
    rows = "text,{},opens,clicks\na,100,20,10\nb,100,30,5\n"
    seen, sent = read(rows.format("impressions")), read(rows.format("sent"))
    assert (seen.columns.count, sent.columns.count) == ("clicks", "opens")
    found = read(
        "subject,unique opens,delivered,open rate,click rate\nA,40,100,40 %,9 %\nB,,100,30 %,9 %\nC,5,,20 %,9 %\n"
    )
    results = [each.result for each in found.records]
    assert results == [
        RecordedOutcome(metric="open rate", value=0.4, n=100),
        RecordedOutcome(metric="open rate", value=0.3, n=100),
        RecordedOutcome(metric="open rate", value=0.2),
    ]


@cases(
    ("header", "metric"),
    [
        ("Email Subject Line;Emails Delivered;Opened (unique);Clicked;Sent On", "open rate"),
        ("Betreffzeile;Zugestellte Mails;Eindeutige Öffnungen;Klicks;Versendet am", "open rate"),
        ("Asunto del correo;Correos entregados;Aperturas únicas;Clics;Fecha de envío", "open rate"),
        ("Objet de l'e-mail;E-mails délivrés;Ouvertures uniques;Clics;Date d'envoi", "open rate"),
        ("Assunto do e-mail;Entregues;Aberturas únicas;Cliques;Data de envio", "open rate"),
        ("Betreff;Empfänger;Klicks (eindeutig);Klicks gesamt;Datum", "click rate"),
    ],
)
def test_columns_are_known_by_their_words_in_five_languages(header: str, metric: str) -> None:
    found = read(f"{header}\nHallo du;1.254;300;20;07.01.2025\nTschüss;1.300;250;31;08.01.2025\n")
    text, n, count, _, when = header.split(";")
    assert found.columns == Columns(text=text, n=n, count=count, when=when)
    results = [each.result for each in found.records]
    assert [(each.metric, each.n) for each in results if each] == [(metric, 1254), (metric, 1300)]
    assert found.records[0].when == "2025-01-07"


@pytest.mark.parametrize(
    "header",
    [
        "Preview text;Subject ID;Subject;Delivered;Forwarded opens;Unique opens",
        "Vorschautext;Betreff ID;Betreff;Zugestellt;Nicht geöffnet;Geöffnet",
    ],
)
def test_a_column_about_something_else_is_not_taken_for_its_words(header: str) -> None:
    columns = read(f"{header}\nso;7;Hallo du;100;3;20\nja;8;Tschüss;100;4;30\n").columns
    assert [columns.text, columns.n, columns.count] == [header.split(";")[at] for at in (2, 3, 5)]


@pytest.mark.parametrize("column", ["week", "month", "day", "sent"])
def test_a_number_of_a_week_is_no_date_and_costs_no_record(column: str) -> None:
    found = read(f"subject,opens,delivered,{column}\nA,10,100,1\nB,20,100,2\nC,30,100,1254\n")
    assert (found.columns.when, len(found.records), found.problems) == ("", 3, [])


@pytest.mark.parametrize(("rate", "kept"), [("40 %", ["A", "B", "D", "E"]), ("9 %", ["A", "E"])])
def test_a_rate_without_a_name_is_used_if_it_is_the_count_over_n(
    rate: str, kept: list[str]
) -> None:
    found = read(
        f"subject,opens,delivered,rate\nA,40,100,{rate}\nB,?,100,30 %\nC,,100,\nD,forgot,100,20 %\nE,2,100,\n"
    )
    assert [each.text for each in found.records] == kept
    assert [each.result and each.result.n for each in found.records] == [100] * len(kept)
    assert found.unread == (() if kept[2:] else ("rate",))
    assert any("line 4: nothing says how the text did: no opens" in each for each in found.problems)


@pytest.mark.parametrize(
    "name", ["Testname", "Test name", "Test Name", "Experiment", "experiment_name"]
)
def test_the_name_of_a_test_is_a_group_and_columns_that_are_not_read_are_named(name: str) -> None:
    found = read(f"{name},Variant,Subject,Sent,Opens,Winner\nt,A,a,9,2,x\nt,B,b,9,1,\n")
    assert (found.columns.group, found.unread) == (name, ("Variant", "Winner"))


def test_dates_of_several_forms_are_read_and_other_lines_are_used_without() -> None:
    days = ["2024-03-01", "01.03.2024", "2024/3/1", "1. 3. 2024", "01-Mar-2024", "Mar 1, 2024"]
    lines = [f'{at},2,9,"{day}"' for at, day in enumerate([*days, "3/3/2024", "3/1/2024", "soon"])]
    found = read("\n".join(["subject,opens,sent,date", *lines]))
    assert [each.when for each in found.records] == [*["2024-03-01"] * 6, "2024-03-03", "", ""]
    assert found.problems == [
        "mails.csv: 2 dates cannot be read, and the lines are used without (line 9: '3/1/2024' can be "
        "2024-01-03 or 2024-03-01; write one of these)"
    ]
    settled = read("\n".join(["subject,opens,sent,date", *lines, "x,2,9,3/28/2024"]))
    assert [each.when for each in settled.records[-3:]] == ["2024-03-01", "", "2024-03-28"]
    assert settled.dates == "3/3/2024, read as 2024-03-03"


def test_a_line_for_spreadsheets_a_title_and_rows_of_sums_are_no_texts() -> None:
    assert len(read("sep=;\nsubject;opens;sent\nA;1;10\nB;2;10\n").records) == 2
    for title in ("Report of May\n\n", "Report of May,for Anna\n", "Mailings,May,,\n,,\n"):
        assert len(read(f"{title}subject,opens,sent\nA,1,10\nB,2,10\n").records) == 2
    sums = ("Gesamt M1", "Durchschnitt M2", "Total Mailing M1", "M2 gesamt", "Average", "Ø M1")
    texts = ("Gesamtpaket ab 99 €", "Total entspannt", "Summe der Teile")
    rows = "".join(f"{each};M{at % 2 + 1};100;9\n" for at, each in enumerate((*texts, *sums)))
    found = read(f"Betreff;Mailing;Zugestellt;Öffnungen\n{rows}–;Summe;400;36\n")
    assert tuple(record.text for record in found.records) == texts
    assert all("is a summary row" in each for each in found.problems)


def test_quoted_lines_may_contain_everything_and_the_longest_foreign_column_is_text() -> None:
    found = read('subject,opens,sent\n"a, ""b""\nand c",1,10\nd,2,10\n')
    assert [record.text for record in found.records] == ['a, "b"\nand c', "d"]
    assert [record.source for record in found.records] == ["mails.csv:2", "mails.csv:4"]
    found = read("编号,内容,value\n1,限时优惠今天结束,0.3\n2,新品上市,0.2\n")
    assert [record.text for record in found.records] == ["限时优惠今天结束", "新品上市"]


@cases(
    ("said", "private"),
    [
        *((no, False) for no in ("", "No", "0", "false", "não", "n/a", "-", "public")),
        *((yes, True) for yes in ("x", "confidential", "Yes please", "1", "✓", "bad")),
    ],
)
def test_verdicts_are_read_and_what_is_no_clear_no_is_private(said: str, private: bool) -> None:
    first, second = read(f"text,verdict,Confidential\na b,Yes,{said}\nc,rejected,\n").records
    assert (first.private, first.verdict) == (private, "approved")
    assert (second.private, second.verdict, second.kind) == (False, "rejected", "verdict")


def lines(*values: object) -> str:
    return "\n".join(map(json.dumps, values))


def test_a_test_with_its_arms_on_one_line_is_a_group_and_torn_lines_are_named() -> None:
    arms = [{"text": t, "impressions": 1000, "clicks": c} for t, c in (("a b", 30), ("c d", 10))]
    found = read(lines({"test": "t1", "week": 201402, "lede": "x", "arms": arms}), "t.jsonl")
    assert [(r.text, r.group, r.when) for r in found.records] == [
        ("a b", "t1", "2014-01-08"),
        ("c d", "t1", "2014-01-08"),
    ]
    assert [r.result and r.result.value for r in found.records] == [0.03, 0.01]
    found = read('{"text": "a", "value": 1}\n{"te\n[1]\n', "t.jsonl")
    assert len(found.records) == 1
    assert found.problems == [
        "t.jsonl, line 2: this is not valid JSON",
        "t.jsonl, line 3: this is not a JSON object",
    ]


@pytest.mark.parametrize("names", [("winner", "loser"), ("chosen", "rejected")])
def test_a_line_with_two_texts_is_a_pair(names: tuple[str, str]) -> None:
    pair = dict(zip(names, ("good one", "bad one"), strict=True))
    found = read(lines({"topic": "t", **pair}, {"topic": "t", **pair}), "p.jsonl")
    assert [(r.text, r.verdict, r.group, r.pair) for r in found.records[:2]] == [
        ("good one", "approved", "t", "p.jsonl:1"),
        ("bad one", "rejected", "t", "p.jsonl:1"),
    ]
    assert found.records[2].pair == "p.jsonl:2"


def test_our_own_records_are_read_as_they_were_written_with_dates_like_those_of_tables() -> None:
    result = RecordedOutcome(metric="m", value=1.0, se=0.5)
    records = [
        Record(text="a", kind="outcome", result=result, group="g"),
        Record(text="b", kind="verdict", verdict="rejected", pair="7", chosen="ab", note="n"),
        Record(text="c", kind="fact", private=True),
    ]
    text = b"\n".join(map(msgspec.json.encode, records)).decode()
    again = read(text, "o.jsonl").records
    assert [msgspec.structs.replace(record, source="") for record in again] == records
    assert [record.id for record in again] == [record.id for record in records]

    def own(when: str) -> dict[str, object]:
        return {"text": "a", "kind": "fact", "when": when}

    when = ("16.12.2027", "2026-03-05", "soon", "", "0001-01-01T00:00:00+14:00")
    found = read(lines(*map(own, when)), "o.jsonl")
    assert [record.when for record in found.records] == ["2027-12-16", "2026-03-05", "", "", ""]
    assert "2 dates cannot be read" in found.problems[0]


@cases(
    ("row", "problem"),
    [
        ("900,500,,", "opens is 900 of 500, which is impossible"),
        ("20%,500,,", "'20%' is not a count"),
        ("9,-5,,", "'-5' is not a count"),
        (f'"{",".join(["999"] * 150)}",500,,', "is not a number"),
        ("9,500,-1,", "the standard error is -1, which is impossible"),
        ("9,500,,downwards", "`better` is 'downwards'; give higher or lower"),
    ],
)
def test_impossible_figures_are_named_and_not_used(row: str, problem: str) -> None:
    found = read(f"text,opens,sent,se,better\na,1,10,,\nb,2,10,,higher\nc,{row}\n")
    assert [record.text for record in found.records] == ["a", "b"]
    assert len(found.problems) == 1
    assert problem in found.problems[0]


@cases(
    "wrong",
    [
        {"result": {"metric": "m", "value": 0.1, "n": -5}},
        {"result": {"metric": "m", "value": 0.1, "se": -1}},
        {"result": {"metric": "open rate", "value": 1.3}},
        {"result": {"metric": "m", "value": 0.1, "better": "downwards"}},
        {"score": 1e300},
        {"verdict": "approved", "text": "a" * 1_000_001},
    ],
)
def test_a_record_of_ours_that_cannot_be_is_named_and_the_rest_works(wrong: dict[str, Any]) -> None:
    good = {"text": "a", "kind": "verdict", "verdict": "approved"}
    found = read(lines({"text": "b", "kind": "outcome", **wrong}, good), "o.jsonl")
    assert [record.text for record in found.records] == ["a"]
    (problem,) = found.problems
    assert problem.startswith("o.jsonl, line 1: ")
    assert len(problem) < 200


def test_rates_above_100_percent_are_impossible_and_counts_are_not() -> None:
    found = read("text,open rate\na,130%\nb,4 %\nc,100 %\n")
    assert found.problems == ["mails.csv, line 2: open rate is 1.3, which is impossible"]
    assert [record.text for record in found.records] == ["b", "c"]
    assert "impossible" in read("text,open rate\na,-5 %\nb,4 %\n").problems[0]
    assert read("text,value\na,-5\nb,4\n").problems == [], "a loss is possible"
    clicks = read("text,clicks\na,130\nb,4\n", value="clicks")
    assert [record.result and record.result.metric for record in clicks.records] == ["clicks"] * 2


cells = st.sampled_from(
    ["text", "value", "sent", "opens", "a b", "1,5 %", "2024-01-01", '"', "\0", "é", ""]
)
rows = st.lists(st.lists(cells, max_size=5).map(",".join), max_size=6).map("\n".join)


@given(st.one_of(st.binary(max_size=300), rows.map(str.encode)), st.sampled_from(["csv", "jsonl"]))
def test_whatever_a_file_contains_it_is_read_or_refused(data: bytes, ending: str) -> None:
    try:
        found = read_table(f"t.{ending}", data)
    except InvalidInput:
        return
    assert all(record.text.strip() for record in found.records)
    msgspec.json.encode(found.records)
