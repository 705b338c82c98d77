"""Word files are read as Markdown and written back with all that did not change."""

from __future__ import annotations

import re
import tempfile
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.cases import cases

from autoreason import files
from autoreason.errors import InvalidInput
from autoreason.report.changes import split_blocks
from autoreason.run.word_files import read_word_file, write_word_file
from autoreason.task import Task

docx = pytest.importorskip("docx", reason="python-docx is not installed")

TEXT = """\
# A proposal

We ask for money. It is **not much**.

## Steps

- Buy wood

- Build a *shed*

1. Paint it

Yours, Kim"""


@pytest.fixture
def letter(tmp_path: Path) -> Path:
    """A document with formatting, a table, and an empty paragraph."""
    made = docx.Document()
    made.add_heading("A proposal", 1)
    asked = made.add_paragraph(style="Quote")
    asked.add_run("We ask for money. It is ").font.size = 254000
    asked.add_run("not much").bold = True
    asked.add_run(".")
    made.add_heading("Steps", 2)
    made.add_paragraph("Buy wood", style="List Bullet")
    made.add_paragraph("Build a ", style="List Bullet").add_run("shed").italic = True
    made.add_table(1, 1).cell(0, 0).text = "12 EUR"
    made.add_paragraph("Paint it", style="List Number")
    made.add_paragraph()
    made.add_paragraph("Yours, Kim").paragraph_format.alignment = 2
    made.save(str(tmp_path / "letter.docx"))
    return tmp_path / "letter.docx"


def body(path: Path) -> list[Any]:
    return [*docx.Document(str(path)).element.body]


def test_it_is_read_as_markdown(letter: Path) -> None:
    assert read_word_file(letter) == TEXT


def test_what_did_not_change_is_written_back_as_it_was(letter: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.docx"
    changed = TEXT.replace("for money", "for 900 EUR").replace("- Buy wood\n\n", "")
    changed += "\n\n## Thanks\n\n- To **all**"
    write_word_file(changed, out, Task(brief="", draft_file=str(letter)))
    assert read_word_file(out) == changed
    before, after = ([each.xml for each in body(path)] for path in (letter, out))
    assert before[0] == after[0], "the heading"
    assert before[5:9] == after[4:8], "the table, the empty paragraph and the signature"
    found = docx.Document(str(out)).paragraphs
    assert (found[1].style.name, found[1].runs[0].font.size) == ("Quote", 254000)
    assert [each.style.name for each in found[-2:]] == ["Heading 2", "List Bullet"]


W = docx.oxml.ns.nsdecls("w")
RUN = "<w:r><w:t>{}</w:t></w:r>"
PARTS = {
    "drawing": f"<w:r {W}><w:drawing/></w:r>",
    "footnoteReference": f'<w:r {W}><w:footnoteReference w:id="2"/></w:r>',
    "commentRangeStart": f'<w:commentRangeStart {W} w:id="1"/>',
    "Kim Lee": f"<w:sdt {W}><w:sdtContent>{RUN.format('Kim Lee')}</w:sdtContent></w:sdt>",
    "new words": f'<w:ins {W} w:id="5" w:author="a">{RUN.format("new words")}</w:ins>',
    "old words": f'<w:del {W} w:id="6"><w:r><w:delText>old words</w:delText></w:r></w:del>',
    "our page": f"<w:hyperlink {W}>{RUN.format('our page')}</w:hyperlink>",
    "of 9": f'<w:fldSimple {W} w:instr="NUMPAGES">{RUN.format("of 9")}</w:fldSimple>',
}


@pytest.mark.parametrize("tracked", [False, True])
def test_all_text_is_read_and_what_is_none_stays(tracked: bool, tmp_path: Path) -> None:
    made = docx.Document()
    for name, xml in PARTS.items():
        paragraph = made.add_paragraph(f"1. See {name[:3]}: ")
        paragraph._p.append(docx.oxml.parse_xml(xml))
        paragraph.add_run(" and go on.")
    made.add_section()
    made.save(str(tmp_path / "rich.docx"))
    text = read_word_file(tmp_path / "rich.docx")
    assert [name for name in PARTS if name in text] == ["Kim Lee", "new words", "our page", "of 9"]
    task, out = Task(brief="", draft_file=str(tmp_path / "rich.docx")), tmp_path / "out.docx"
    changed = text.replace("go on", "stop\u200f\uffff")
    write_word_file(changed, out, task, text if tracked else "")
    xml = docx.Document(str(out)).element.body.xml
    assert all(name in xml for name in ("drawing", "footnoteReference", "commentRangeStart"))
    assert "fldSimple" not in xml, "it would write its text again"
    assert read_word_file(out) == changed.replace("\uffff", "")
    write_word_file("Nothing.", out, task)
    assert docx.Document(str(out)).element.body.xml.count("w:drawing") == 1
    assert docx.Document(str(out)).element.body.xml.count("<w:sectPr") == 2


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A paragraph with two links of the same words, and one with a field."""
    made = docx.Document()
    paragraph = made.add_paragraph("Fetch the plan ")
    for address, words, between in (
        ("https://a.example/plan", "here", ", read the rules "),
        ("https://a.example/rules", "here", ". It is cheap. See "),
        ("https://a.example/more", "our page", "."),
    ):
        kind = docx.opc.constants.RELATIONSHIP_TYPE.HYPERLINK
        link = docx.oxml.parse_xml(
            f'<w:hyperlink {docx.oxml.ns.nsdecls("w", "r")} r:id="{made.part.relate_to(address, kind, True)}">'
            f'<w:r><w:rPr><w:color w:val="0000FF"/></w:rPr><w:t>{words}</w:t></w:r></w:hyperlink>'
        )
        paragraph._p.append(link)
        paragraph.add_run(between)
    made.add_paragraph("Page ")._p.append(docx.oxml.parse_xml(PARTS["of 9"]))
    made.save(str(tmp_path / "linked.docx"))
    return tmp_path / "linked.docx"


def links_in(path: Path, *, without: str = "del") -> list[tuple[str, str]]:
    """Words and addresses, with all tracked changes taken, or, without `ins`, none."""
    of = f"(.//w:t | .//w:delText)[not(ancestor::w:{without})]"
    found = [
        ("".join(each.text for each in link._hyperlink.xpath(of)), link.address[18:])
        for paragraph in docx.Document(str(path)).paragraphs
        for link in paragraph.hyperlinks
    ]
    return [each for each in found if each[0]]


ALL_LINKS = [("here", "plan"), ("here", "rules"), ("our page", "more")]


@pytest.mark.parametrize("tracked", [False, True])
@pytest.mark.parametrize(
    ("old", "new", "kept"),
    [
        ("It is cheap.", "It costs little, here and there.", ALL_LINKS),
        ("Fetch the plan here, read", "Please read", ALL_LINKS[1:]),
        ("See our page", "Look at **our** page", ALL_LINKS),
        ("See our page", "See our pages", ALL_LINKS[:2]),
    ],
)
def test_a_link_whose_words_stay_stays_a_link(
    old: str, new: str, kept: list[tuple[str, str]], tracked: bool, linked: Path
) -> None:
    text, out = read_word_file(linked), linked.with_name("out.docx")
    changed = text.replace(old, new)
    task = Task(brief="", draft_file=str(linked))
    lost = write_word_file(changed, out, task, text if tracked else "")
    assert links_in(out) == kept
    assert links_in(out, without="ins") == (ALL_LINKS if tracked else kept)
    assert read_word_file(out) == changed
    for run in docx.Document(str(out)).element.body.xpath(".//w:hyperlink//w:r"):
        assert run.xpath("w:rPr/w:color"), "it looks like a link"
    gone = [words for words, address in ALL_LINKS if (words, address) not in kept]
    where = "Please read the rules here." if gone == ["here"] else "Fetch the plan here, read"
    assert [each.split(" is lost, in “")[0] for each in lost] == [
        f"the link “{words}”" for words in gone
    ]
    assert all(f"in “{where}" in each for each in lost)


def test_a_field_that_is_lost_is_named_with_its_paragraph(linked: Path) -> None:
    text = read_word_file(linked).replace("Page of", "This is page")
    lost = write_word_file(
        text, linked.with_name("out.docx"), Task(brief="", draft_file=str(linked))
    )
    assert lost == ["a field is lost, in “This is page 9”"]


def test_emphasis_over_several_sentences_is_no_sign_in_a_tracked_change(tmp_path: Path) -> None:
    write_word_file("**One. Three.** Four", tmp_path / "out.docx", None, "**One. Two.** Four")
    (paragraph,) = docx.Document(str(tmp_path / "out.docx")).paragraphs
    bold = paragraph._p.xpath(".//w:r[w:rPr/w:b]/*[self::w:t or self::w:delText]")
    assert [each.text for each in bold] == ["One. ", "Two.", "Three."]
    assert "*" not in paragraph._p.xml


def test_without_a_document_of_its_own_a_text_becomes_a_new_one(tmp_path: Path) -> None:
    write_word_file(TEXT, tmp_path / "new.docx", None)
    text = read_word_file(tmp_path / "new.docx")
    assert split_blocks(text) == split_blocks(TEXT)


RUNS = st.tuples(st.text("ab5*\\_( .", min_size=1, max_size=5), st.booleans(), st.booleans())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(RUNS, min_size=1, max_size=4), min_size=1, max_size=8))
@example([[("Other the paragraph with 5*6 and 7*8 boxes.", False, False)]])
@example([[("2**3*4, f(x)*2*f(y) and *this* ", False, False), ("*un", True, False)]])
def test_signs_of_emphasis_that_are_none_stay(
    paragraphs: list[list[tuple[str, bool, bool]]],
) -> None:
    made, meant = docx.Document(), list[str]()
    for runs in paragraphs:
        paragraph = made.add_paragraph("Ask ")
        for words, is_bold, is_italic in runs:
            run = paragraph.add_run(words)
            run.bold, run.italic = is_bold, is_italic
        meant.append(re.sub(r"(\s*)$", r" now\1", paragraph.text, count=1))
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder, "in.docx"), Path(folder, "out.docx")
        made.save(str(source))
        text = "\n\n".join(f"{line} now" for line in read_word_file(source).split("\n\n"))
        write_word_file(text, out, Task(brief="", draft_file=str(source)))
        assert [each.text for each in docx.Document(str(out)).paragraphs] == meant
        assert read_word_file(out) == text


@cases("words", ["with 5*6 and 7*8 boxes", "2**3 and 2**4", "*args, **kwargs", "5*6*7", "*.py, *"])
def test_most_asterisks_are_read_as_they_are(words: str, tmp_path: Path) -> None:
    made = docx.Document()
    made.add_paragraph(words)
    made.save(str(tmp_path / "in.docx"))
    assert read_word_file(tmp_path / "in.docx") == words


@pytest.mark.parametrize("tracked", [False, True])
def test_words_look_like_those_that_they_replace(tracked: bool, tmp_path: Path) -> None:
    made, out = docx.Document(), tmp_path / "out.docx"
    paragraph = made.add_paragraph("\tURGENT: ")
    paragraph.runs[0].font.size = 381000
    paragraph.add_run("Kim Le")
    paragraph.add_run("e\nBerlin, 12\xa0May. ").underline = False
    paragraph.add_run("Come\tsoon, please, to us").font.size = 381000
    made.save(str(tmp_path / "in.docx"))
    text = read_word_file(tmp_path / "in.docx")
    changed = text.replace("Kim", "**Ann**").replace("soon", "late")
    task = Task(brief="", draft_file=str(tmp_path / "in.docx"))
    assert write_word_file(changed, out, task, text if tracked else "") == []
    (found,) = docx.Document(str(out)).paragraphs
    runs = [docx.text.run.Run(x, found) for x in found._p.xpath(".//w:r[not(parent::w:del)]")]
    looks = [(x.font.size, x.underline, x.bold, x.text) for x in runs]
    joined = [(*k, "".join(x[3] for x in xs)) for k, xs in groupby(looks, lambda x: x[:3])]
    assert joined == [
        (381000, None, None, "\tURGENT: "),
        (None, None, True, "Ann"),
        (None, None, None, " Le"),
        (None, False, None, "e\nBerlin, 12\xa0May. "),
        (381000, None, None, "Come\tlate, please, to us"),
    ]
    lost = write_word_file("URGENT: Kim Lee,Berlin, 12 May.", out, task)
    assert [each.split(" is lost, in ")[0] for each in lost] == ["a line break", "a tab"]


LINES = st.sampled_from(
    [
        *("# A plan", "## Cost", "We ask for more. It is **not** much.", "- Wood", "1. *Paint* it"),
        *("We ask for less. It is *not* much.", "Nobody knows.", "Yours, Kim", "", "- Wood or so"),
    ]
)
TEXTS = st.lists(LINES, min_size=1, max_size=6).map("\n\n".join).filter(str.strip)


def check_both_ways(path: Path, before: str, after: str) -> None:
    for left_out, text in (("del", after), ("ins", before)):
        found = []
        for paragraph in docx.Document(str(path)).paragraphs:
            of = f"(.//w:t | .//w:delText)[not(ancestor::w:{left_out})]"
            words = "".join(each.text for each in paragraph._p.xpath(of))
            marked = paragraph._p.xpath(f"w:pPr/w:rPr/w:{left_out}")
            assert not (marked and words), "a paragraph that goes takes no words with it"
            found += words.split()
        bare = [block.text.replace("*", "") for block in split_blocks(text)]
        assert found == " ".join(bare).split(), left_out


@settings(max_examples=25, deadline=None)
@given(TEXTS, TEXTS)
def test_all_changes_accepted_give_one_text_and_rejected_the_other(before: str, after: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "changes.docx")
        write_word_file(after, path, None, before)
        check_both_ways(path, before, after)


def test_so_they_do_in_a_document_of_ones_own(letter: Path, tmp_path: Path) -> None:
    out = tmp_path / "changes.docx"
    changed = TEXT.replace("for money", "for 900 EUR").replace("- Buy wood\n\n", "")
    changed = changed.replace("Yours", "Thank you.\n\nYours").replace("## Steps", "## Next steps")
    write_word_file(changed, out, Task(brief="", draft_file=str(letter)), before=TEXT)
    check_both_ways(out, TEXT, changed)
    gone = docx.Document(str(out)).element.body.xpath(".//w:delText")
    assert [each.text for each in gone][:2] == ["money. ", "Steps"]


def test_in_a_sentence_that_changed_the_words_that_changed_are_marked(linked: Path) -> None:
    text, out = read_word_file(linked), linked.with_name("out.docx")
    changed = text.replace("the plan", "our *new* plan").replace("page.", "page!")
    write_word_file(changed, out, Task(brief="", draft_file=str(linked)), text)
    body = docx.Document(str(out)).element.body
    gone, come = (body.xpath(each) for each in (".//w:delText", ".//w:ins//w:t"))
    assert [each.text for each in gone] == ["the", "our page", "."]
    assert [each.text for each in come] == ["our ", "new", "our page", "!"]
    assert links_in(out) == links_in(out, without="ins") == ALL_LINKS


def test_emphasis_that_changed_with_its_sentence_can_be_rejected(tmp_path: Path) -> None:
    write_word_file("It is **so** cold now.", tmp_path / "out.docx", None, "It is so hot now.")
    body = docx.Document(str(tmp_path / "out.docx")).element.body
    assert not body.xpath(".//w:del//w:b")
    assert [each.text for each in body.xpath(".//w:del//w:delText")] == ["It is so ", "hot"]


def test_what_is_not_installed_or_cannot_be_read_is_said_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.docx"
    bare = docx.Document()
    bare.element.remove(bare.element.body)
    bare.save(str(broken))
    for content in (broken.read_bytes(), b"no document", b""):
        broken.write_bytes(content)
        with pytest.raises(
            InvalidInput, match=r"broken\.docx is damaged, empty or no Word file; .* save"
        ):
            read_word_file(broken)
    with pytest.raises(InvalidInput, match=r"none\.docx is not there; check its name"):
        read_word_file(tmp_path / "none.docx")
    monkeypatch.setattr(files, "find_spec", lambda _: None)
    with pytest.raises(InvalidInput, match=r"run `pip install '\.\[docx\]'`"):
        files.check_output(tmp_path / "out.docx")
    with pytest.raises(InvalidInput, match=r"; `pandoc \S+/out.odt -o \S+/out.docx` converts"):
        files.check_output(tmp_path / "out.odt")


def test_lines_that_end_early_stay_lines(tmp_path: Path) -> None:
    write_word_file("Jane Doe  \n12 High Street\nLeeds", tmp_path / "out.docx", None)
    (paragraph,) = docx.Document(str(tmp_path / "out.docx")).paragraphs
    assert paragraph.text == "Jane Doe\n12 High Street\nLeeds"
