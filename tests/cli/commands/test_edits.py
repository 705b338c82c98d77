"""A draft that is a Word file, from the command line and back, and what changed as suggestions."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from tests.cli.inside import Inside

from autoreason.run.word_files import read_word_file

docx = pytest.importorskip("docx", reason="python-docx is not installed")
ECHO = "-m echo/echo --rounds 1 --set reviewers=0 --set confirmation=0 --max-words 900 --seed 1"


@pytest.fixture
def letter(inside: Inside) -> str:
    made = docx.Document()
    made.add_heading("A shed", 1)
    made.add_paragraph("It fell over. Nobody knows why.", style="Quote")
    made.save(str(inside.folder / "letter.docx"))
    return "letter.docx"


def test_an_edit_that_goes_too_far_leaves_the_document_as_it_was(
    inside: Inside, letter: str
) -> None:
    brief = ("run", "Improve it.", "--draft", letter, "-o", "out.docx", *ECHO.split())
    said = inside(*brief, "--edit", "light", "--must-include", "900 EUR")
    assert said.status == 0
    assert "letter.docx: tables, images" in said.err
    shown = " ".join(said.err.split())
    assert re.search(r"it is more than an edit \(changed \d+ % of the words, at most 15 %", shown)
    before, after = (docx.Document(str(inside.folder / name)) for name in (letter, "out.docx"))
    assert before.element.body.xml == after.element.body.xml
    assert inside("export", "last", "--changes", "a.md").sentence.startswith("the run has changed")


def test_what_changed_is_written_in_the_form_that_the_ending_names(
    inside: Inside, letter: str
) -> None:
    run = inside("run", "Improve it.", "--draft", letter, "-o", "out.docx", *ECHO.split(), "-q")
    assert run.status == 0
    assert read_word_file(inside.folder / "out.docx") != read_word_file(inside.folder / letter)
    for name, holds in (("a.md", "{--"), ("a.patch", "\n-It fell over."), ("a.docx", "")):
        assert inside("export", "last", "--changes", name).err == f"written to {name}\n"
        assert holds in ((inside.folder / name).read_text() if holds else "")
    body = docx.Document(str(inside.folder / "a.docx")).element.body.xml
    assert "<w:ins " in body
    assert "<w:delText" in body
    assert 'w:val="Quote"' in body, "it is the user's own document"
    assert inside("export", "last", "a", "--changes", "a.md").sentence.startswith("give one run")
    refused = inside("export", "last", "--changes", "a.txt").sentence
    assert refused == "a.txt is none of .patch, .diff, .md and .docx; name one of those"


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch is not installed")
@pytest.mark.parametrize("end", ["", "\n", "  \n\n"])
def test_a_patch_fits_the_draft_as_its_file_has_it(inside: Inside, end: str) -> None:
    draft = inside.folder / "draft.md"
    draft.write_text(f"\nIt fell over. Nobody knows why.{end}")
    assert inside("run", "Improve it.", "--draft", "draft.md", *ECHO.split(), "-q").status == 0
    assert inside("export", "last", "--changes", "a.patch").status == 0
    assert "LF" in inside("export", "--help").out
    subprocess.run(["patch", "-s", "draft.md", "a.patch"], cwd=inside.folder, check=True)
    text = inside("show", "last", "--text").out.strip()
    assert draft.read_text() == f"\n{text}{end}"


def test_a_run_goes_on_and_is_forked_with_its_document(inside: Inside, letter: str) -> None:
    limited = ("run", "Improve it.", "--draft", letter, *ECHO.split(), "--call-limit", "1", "-q")
    assert inside(*limited).status == 3
    assert inside("resume", "--call-limit", "90", "-o", "out.docx", "-q").status == 0
    assert inside("fork", "last", "--set", "edit=proof", "-o", "again.docx", "-q").status == 0
    for name in ("out.docx", "again.docx"):
        assert docx.Document(str(inside.folder / name)).paragraphs[0].style.name == "Heading 1"
