"""`knowledge add` and `import`: what became of texts."""

from __future__ import annotations

from tests.cli.inside import Inside

from autoreason.knowledge.folder import read_folder
from autoreason.knowledge_records import RecordedOutcome


def test_what_a_run_came_to_is_a_record_of_its_text(inside: Inside) -> None:
    text = inside("run", "Write a toast.", "-m", "echo/echo", "--passes", "1", "-q").out
    (run,) = inside.runs()
    (inside.folder / "kb").mkdir()
    add = ("knowledge", "add", "kb", run, "--value", "0.38", "--n", "2100", "--group", "spring")
    when = ("--when", "2024-03-05")
    done = inside(*add, "--metric", "Opens", *when)
    assert done.status == 0
    assert "appended to kb/outcomes.jsonl" in done.err
    (record,) = read_folder(inside.folder / "kb").records
    assert record.text.strip() == text.strip()
    assert record.result == RecordedOutcome(metric="opens", value=0.38, n=2100)
    assert (record.group, record.when, record.chosen) == ("spring", "2024-03-05", "picked")
    assert record.note == f"run {run}"
    assert "this is already in" in inside(*add, "--metric", "Opens", *when).err
    unknown = (
        "knowledge",
        "add",
        "kb",
        run,
        "--value",
        "3",
        "--group",
        "x",
        "--chosen",
        "ab",
        "--json",
    )
    added = inside(*unknown).json
    first, second = read_folder(inside.folder / "kb").records
    assert (first, second.id) == (record, added["added"])
    assert (second.chosen, second.result) == ("ab", RecordedOutcome(metric="result", value=3.0))


def test_a_value_may_be_written_as_in_a_table(inside: Inside) -> None:
    inside("run", "Write a toast.", "-m", "echo/echo", "--passes", "1", "-q")
    (inside.folder / "kb").mkdir()
    for value in ("0,38", "38%", "38 %"):
        add = ("knowledge", "add", "kb", *inside.runs(), "--value", value, "--group", "g")
        assert inside(*add).status == 0
    (record,) = read_folder(inside.folder / "kb").records
    assert record.result == RecordedOutcome(metric="result", value=0.38)
    exported = inside("knowledge", "export", "kb", "--to", "-")
    assert record.text.split()[-1] in exported.out


def test_what_cannot_be_recorded_is_refused(inside: Inside) -> None:
    add = ("knowledge", "add", "kb", "nowhere", "--value", "1", "--group", "g")
    assert inside(*add).status == 2
    inside("run", "Write a toast.", "-m", "echo/echo", "--passes", "1", "-q")
    (run,) = inside.runs()
    there = ("knowledge", "add", "kb", run, "--value", "1", "--group", "g")
    assert "no folder kb for outcomes" in inside(*there).sentence
    assert "'soon' is no date" in inside(*there, "--when", "soon").sentence
    assert inside(*there, "--value", "nan").sentence == "--value is nan; give a number"
    assert "give 0.38 for per cent" in inside(*there, "--value", "38", "--n", "2100").sentence
    assert "--group is empty" in inside(*there, "--group", "").sentence
    assert inside(*there, "--value", "many").status == 2
    assert inside(*there, "--n", "0").sentence == "--n is 0; give 1 or more"


def test_a_table_is_imported_once(inside: Inside) -> None:
    (inside.folder / "kb").mkdir()
    inside.write("march.csv", "subject,opens,sent\nA,10,100\nB,20,100\n,1,1\n")
    done = inside("knowledge", "import", "kb", "march.csv")
    assert done.status == 0
    assert "2 records added (text: subject, count: opens, n: sent)" in done.err
    assert "left out: march.csv, line 4: there is no text" in done.err
    again = inside("knowledge", "import", "kb", "march.csv", "--json").json
    assert (again["added"], again["known"]) == (0, 2)
    assert len(read_folder(inside.folder / "kb").records) == 2
