"""Word files: read as Markdown, written back with the formatting of what did not change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from copy import deepcopy
from functools import partial
from itertools import count, groupby
from pathlib import Path
from typing import Any

from autoreason.errors import InvalidInput
from autoreason.report.changes import pair, split_blocks, suggest
from autoreason.task import Task

UNREAD = (
    "tables, images, text boxes and tracked changes are not read; footnotes and links may be lost"
)
_LIKE = 0.22
_STYLES = {"item": "List Bullet"} | {f"h{level}": f"Heading {level}" for level in range(1, 7)}
_MARKED = re.compile(r"(\*{1,3})(?=\S)(.+?)(?<=\S)\1|([^*]+|\*)")
"""Words in emphasis, or without."""
_NUMBERS = count(1)


def read_word_file(path: Path) -> str:
    """Its text in Markdown."""
    return "\n\n".join(filter(None, map(_to_markdown, _open(path).paragraphs)))


def write_word_file(text: str, path: Path, task: Task | None, before: str = "") -> None:
    """A text in a copy of its draft's file, or in a new one; against a text `before` as tracked changes."""
    source = task.draft_file if task else ""
    document = _open(Path(source) if source else None)
    if before and not source:
        _replace(document, before)
    _replace(document, text, tracked=bool(before))
    document.save(str(path))


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
    return "*" * (2 * bool(getattr(run, "bold", False)) + bool(getattr(run, "italic", False)))


def _replace(document: Any, text: str, *, tracked: bool = False) -> None:
    """Put a text where that of a document is; what is unchanged, or not text, stays as it is."""
    there = [(p, split_blocks(line)[0]) for p in document.paragraphs if (line := _to_markdown(p))]
    models = {block.kind: paragraph for paragraph, block in reversed(there)}
    paragraphs, last, body = iter(there), None, document.element.body
    for one, other in pair([block for _, block in there], split_blocks(text), _LIKE):
        paragraph = next(paragraphs)[0] if one else document.add_paragraph()
        was, now = one.text if one else "", other.text if other else ""
        if other and not one:
            model, style = models.get(other.kind), _STYLES.get(other.kind)
            if model and model._p.pPr is not None:
                paragraph._p.insert(0, deepcopy(model._p.pPr))
            elif not model and style in document.styles:
                paragraph.style = style
            (last._p.addnext if last else partial(body.insert, 0))(paragraph._p)
        if not other and not tracked:
            paragraph._p.getparent().remove(paragraph._p)
            continue
        if tracked and not (one and other):
            look = paragraph._p.get_or_add_pPr()
            look.remove_all("w:rPr")
            mark = _element("rPr", _element("ins" if other else "del"))
            look.insert_element_before(mark, "w:sectPr", "w:pPrChange")
        if was != now:
            _fill(paragraph, suggest(was, now) if tracked else [(now, now)])
        last = paragraph


def _fill(paragraph: Any, pieces: Iterable[tuple[str, str]]) -> None:
    """Words in place of a paragraph's own, in the look of its first ones; where they differ, as a change."""
    look = paragraph.runs[0]._r.rPr if paragraph.runs else None
    paragraph.clear()
    for was, now in pieces:
        for kind, text in [("", now)] if was == now else [("del", was), ("ins", now)]:
            for mark, strong, plain in _MARKED.findall(text):
                run = paragraph.add_run(strong or plain)
                if look is not None:
                    run._r.insert(0, deepcopy(look))
                run.bold, run.italic = len(mark) > 1 or None, len(mark) in (1, 3) or None
                if kind:
                    paragraph._p.append(_element(kind, run._r))
                for gone in run._r.xpath("w:t") if kind == "del" else ():
                    gone.tag = gone.tag.replace("}t", "}delText")


def _element(kind: str, *inside: Any) -> Any:
    from docx.oxml import OxmlElement, ns

    made = OxmlElement(f"w:{kind}")
    if kind != "rPr":
        made.set(ns.qn("w:id"), str(next(_NUMBERS)))
        made.set(ns.qn("w:author"), "autoreason")
    made.extend(inside)
    return made
