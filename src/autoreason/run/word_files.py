"""Files of word processors: read as Markdown, written back with the formatting of what did not change."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from copy import deepcopy
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import Any

from autoreason.errors import InvalidInput
from autoreason.files import check_word_file
from autoreason.report.changes import pair, split_blocks
from autoreason.report.suggestions import split_pieces, suggest

_LIKE = 0.22
_STYLES = {"item": "List Bullet"} | {f"h{level}": f"Heading {level}" for level in range(1, 7)}
_NUMBERS = count(1)
_EMPHASIS = re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1")
_KEPT = (
    "tables, images and text boxes stay and are not read; footnotes and links go with what changes"
)


def read_word_file(path: Path) -> tuple[str, str]:
    """The text in Markdown, and what becomes of all else that is in the file."""
    check_word_file(path)
    if path.suffix.lower() == ".odt":
        read = _run_pandoc("--sandbox", "-t", "commonmark", "--wrap=none", str(path))
        return read, "only its text is kept"
    lines = (line for each in _open(path).paragraphs if (line := _to_markdown(each)))
    return re.sub(r"(?m)^((?:-|1\.) .*)\n(?=\n(?:-|1\.) )", r"\1", "\n\n".join(lines)), _KEPT


def write_word_file(text: str, path: Path, source: str, before: str | None = None) -> None:
    """The text in a copy of the `.docx` it was made from, or in a new file; against `before` as tracked changes."""
    if path.suffix.lower() == ".odt":
        # An image would be fetched from wherever the text says.
        _run_pandoc("-f", "commonmark", "-o", str(path), text=text.replace("![", r"!\["))
        return
    document = _open(Path(source) if source.lower().endswith(".docx") else None)
    if not document.paragraphs:
        _replace(document, before or "", tracked=False)
    _replace(document, text, tracked=before is not None)
    document.save(str(path))


def _run_pandoc(*options: str, text: str = "") -> str:
    command = ["pandoc", *options]
    try:
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    except subprocess.CalledProcessError as error:
        raise InvalidInput(f"pandoc: {error.stderr.strip()}; give another file") from None
    return done.stdout


def _open(path: Path | None) -> Any:
    from docx import Document

    try:
        return Document(str(path) if path else None)
    except Exception as error:
        raise InvalidInput(f"cannot read {path}: {error}; save it again as .docx") from None


def _to_markdown(paragraph: Any) -> str:
    """A paragraph as one block; empty where it has no words."""
    text = ""
    for mark, runs in groupby(paragraph.iter_inner_content(), _emphasis):
        words = re.sub(r"\s", " ", "".join(each.text for each in runs))
        text += re.sub(r"\S(?:.*\S)?", rf"{mark}\g<0>{mark}", words)
    name = paragraph.style.name or ""
    is_item = name.startswith("List") or "<w:numPr>" in paragraph._p.xml
    lead = "1. " if name.startswith("List Number") else "- " if is_item else ""
    if level := re.fullmatch(r"Title|Heading (\d)", name):
        lead = "#" * int(level[1] or 1) + " "
    return f"{lead}{text.strip()}" if text.strip() else ""


def _emphasis(run: Any) -> str:
    # What is not a run, but a link, has neither.
    return "*" * (2 * bool(getattr(run, "bold", False)) + bool(getattr(run, "italic", False)))


def _replace(document: Any, text: str, *, tracked: bool) -> None:
    """Put a text where that of a document is; what is unchanged, or not text, stays as it is."""
    there = [(p, split_blocks(line)[0]) for p in document.paragraphs if (line := _to_markdown(p))]
    models = {block.kind: paragraph for paragraph, block in reversed(there)}
    paragraphs, last = iter(there), None
    for one, other in pair([block for _, block in there], split_blocks(text), _LIKE):
        paragraph = next(paragraphs)[0] if one else document.add_paragraph()
        was, now = one.text if one else "", other.text if other else ""
        if one is None and other is not None:
            model, style = models.get(other.kind), _STYLES.get(other.kind)
            if model and model._p.pPr is not None:
                paragraph._p.insert(0, deepcopy(model._p.pPr))
            elif not model and style in document.styles:
                paragraph.style = style
            place = last._p.addnext if last else partial(document.element.body.insert, 0)
            place(paragraph._p)
        if other is None and not tracked:
            paragraph._p.getparent().remove(paragraph._p)
            continue
        if tracked and not (one and other):
            mark = _element("ins" if other else "del")
            paragraph._p.get_or_add_pPr().append(_element("rPr", mark))
        if was != now:
            pieces = suggest(split_pieces(was), split_pieces(now)) if tracked else [(now, now)]
            _fill(paragraph, pieces)
        last = paragraph


def _fill(paragraph: Any, pieces: Iterable[tuple[str, str]]) -> None:
    """Words in place of a paragraph's own, in the look of its first ones; where they differ, as a change."""
    look = paragraph.runs[0]._r.rPr if paragraph.runs else None
    paragraph.clear()
    for was, now in pieces:
        for kind, text in [("", now)] if was == now else [("del", was), ("ins", now)]:
            parts = _EMPHASIS.split(text)
            for at, words in enumerate(parts):
                if at % 3 == 1 or not words:
                    continue
                marks = len(parts[at - 1]) if at % 3 == 2 else 0
                run = paragraph.add_run(words)
                if look is not None:
                    run._r.insert(0, deepcopy(look))
                run.bold, run.italic = marks > 1 or None, marks in (1, 3) or None
                if kind:
                    paragraph._p.append(_element(kind, run._r))
                for gone in run._r.xpath("w:t") if kind == "del" else ():
                    gone.tag = gone.tag.replace("}t", "}delText")


def _element(kind: str, *inside: Any) -> Any:
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn

    made = OxmlElement(f"w:{kind}")
    if kind in ("ins", "del"):
        made.set(qn("w:id"), str(next(_NUMBERS)))
        made.set(qn("w:author"), "autoreason")
    made.extend(inside)
    return made
