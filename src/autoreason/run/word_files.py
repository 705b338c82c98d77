"""Word files: read as Markdown, written back with the formatting of what did not change."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from functools import partial
from io import BytesIO
from itertools import chain, count, groupby, product, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from autoreason.errors import InvalidInput
from autoreason.files import write
from autoreason.report.changes import pair, split_blocks, suggest, suggest_words
from autoreason.report.numbers import shorten
from autoreason.task import Task

UNREAD = "tables, images and text boxes stay, unread; what changes loses fields"
_STYLES = {"item": "List Bullet"} | {f"h{level}": f"Heading {level}" for level in range(1, 7)}
_EMPHASIS = re.compile(
    r"(?<!\w)(\*{1,3})(?=\S)(.+?)(?<=[^\s\\])\1(?!\w)"
    r"|(\*{1,3})(?!\d+\*)((?<=\*\*)[^\s*]{2,}|[^\W\d_]{2,})\3|\\(\*)|([^*\\]+|\*+|\\)"
)
"""Words in emphasis, also within one, but not the 6 of `5*6*7`; or without."""
_NOT_IN_XML = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_RUNS = ".//w:r[not(ancestor::w:txbxContent or ancestor::w:del or ancestor::w:moveFrom)]"
_LETTERS = "t tab cr noBreakHyphen fldChar instrText br[not(@w:type)]"
_WRITTEN = " | ".join(
    ["w:del", "w:moveFrom", ".//w:fldSimple", *(f"{_RUNS}/w:{each}" for each in _LETTERS.split())]
)
"""The text of a paragraph, and what would write it anew."""
_EMPTY = (".//w:r[not(*[not(self::w:rPr)])]", ".//w:hyperlink[not(*)]")
_STAYS = ".//w:drawing | .//w:pict | .//w:object | w:pPr/w:sectPr"
_NUMBERS = count(1)


class _Link(NamedTuple):
    """A link of a paragraph without what is in it, and what stands before its words."""

    element: Any
    before: str
    words: str


class _Letter(NamedTuple):
    mark: str | None
    """Of the emphasis that it is in; None is that of its look."""
    link: _Link | None
    text: str
    look: Any = None


def read_word_file(path: Path) -> str:
    """Its text in Markdown."""
    return "\n\n".join(filter(None, map(_to_markdown, _open(path).paragraphs)))


def write_word_file(text: str, path: Path, task: Task | None, before: str = "") -> list[str]:
    """A text in a copy of its draft's file, or a new one; against one `before` as tracked changes. Returns losses."""
    source = task.draft_file if task else ""
    document, body = _open(Path(source) if source else None), BytesIO()
    if before and not source:
        list(_replace(document, before))
    lost = [*_replace(document, text, tracked=bool(before))]
    document.save(body)
    write(path, body.getvalue())
    return lost


def _open(path: Path | None) -> Any:
    from docx import Document

    try:
        document = Document(str(path) if path else None)
        # Where it has no body, this raises.
        len(document.paragraphs)
        return document
    except Exception:
        why = "damaged, empty or no Word file" if path and path.exists() else "not there"
        raise InvalidInput(f"{path} is {why}; check its name, or save it again as .docx") from None


def _to_markdown(paragraph: Any) -> str:
    """A paragraph as one block; empty where it has no words."""
    marked = groupby(_runs(paragraph), lambda run: "*" * (2 * bool(run.bold) + bool(run.italic)))
    parts = [(mark, "".join(each.text for each in same)) for mark, same in marked]
    # Most asterisks need no escape; emphasis that could not be read again is left out.
    for most, star in product((3, 0), ("*", r"\*")):
        shown = [(mark[:most], re.sub(r"\s", " ", words)) for mark, words in parts]
        rows = ((rf"{mark}\g<0>{mark}", words.replace("*", star)) for mark, words in shown)
        text = "".join(re.sub(r"\S(?:.*\S)?", *row) for row in rows)
        meant = [(mark, x) for mark, words in shown for x in words if x != " "]
        if meant == [(x.mark, x.text) for x in _letters(text, ()) if x.text != " "]:
            break
    return f"{_lead(paragraph)}{text.strip()}" if text.strip() else ""


def _runs(paragraph: Any) -> list[Any]:
    from docx.text.run import Run

    return [Run(each, paragraph) for each in paragraph._p.xpath(_RUNS)]


def _lead(paragraph: Any) -> str:
    """The sign of what its style makes of it."""
    name = paragraph.style.name or ""
    if level := re.fullmatch(r"Title|Heading (\d)", name):
        return "#" * int(level[1] or 1) + " "
    is_item = name.startswith("List") or "<w:numPr>" in paragraph._p.xml
    return "1. " if name.startswith("List Number") else "- " if is_item else ""


def _replace(document: Any, text: str, *, tracked: bool = False) -> Iterator[str]:
    """Put a text where that of a document is; what is unchanged, or not text, stays as it is."""
    there = [(p, split_blocks(line)[0]) for p in document.paragraphs if (line := _to_markdown(p))]
    models = {block.kind: paragraph for paragraph, block in reversed(there)}
    paragraphs, last, body = iter(there), None, document.element.body
    for one, other in pair([block for _, block in there], split_blocks(text, "\n")):
        paragraph = next(paragraphs)[0] if one.kind else document.add_paragraph()
        if not one.kind:
            model, style = models.get(other.kind), _STYLES.get(other.kind)
            if model and model._p.pPr is not None:
                paragraph._p.insert(0, deepcopy(model._p.pPr))
                paragraph._p.pPr.remove_all("w:sectPr")
            elif not model and style in document.styles:
                paragraph.style = style
            (last._p.addnext if last else partial(body.insert, 0))(paragraph._p)
        if tracked and not (one.kind and other.kind):
            look = paragraph._p.get_or_add_pPr()
            look.remove_all("w:rPr")
            mark = _element("rPr", _element("ins" if other.kind else "del"))
            look.insert_element_before(mark, "w:sectPr", "w:pPrChange")
        if one.text != other.text:
            # A number that was typed is not a list's.
            typed = "" if _lead(paragraph) else _to_markdown(paragraph).removesuffix(one.text)
            was, now = f"{typed}{one.text}", f"{typed}{other.text}" if other.kind else ""
            for lost in _fill(paragraph, was, now, tracked=tracked):
                yield f"{lost} is lost, in “{shorten(other.text or one.text, 60)}”"
        if other.kind or tracked or paragraph._p.xpath(_STAYS):
            last = paragraph
        else:
            paragraph._p.getparent().remove(paragraph._p)


def _fill(paragraph: Any, was: str, now: str, *, tracked: bool) -> list[str]:
    """Words in place of a paragraph's own, in the look of those they replace, or as a change. Returns what is lost."""
    links, own, looks = [*_find_links(paragraph)], list[_Letter](), dict[str, Any]()
    for run in _runs(paragraph):
        look = looks.setdefault(str(getattr(run._r.rPr, "xml", "")), run._r.rPr)
        own += [_Letter(None, None, each, look) for each in run.text]
    lost = ["a field"] * bool(paragraph._p.xpath(".//w:fldSimple | .//w:instrText"))
    for place in (_WRITTEN, *_EMPTY):
        for each in paragraph._p.xpath(place):
            each.getparent().remove(each)
    rest = paragraph._p.xpath("*[not(self::w:pPr)]")
    whole, usual = "".join(x.text for x in own), Counter(x.look for x in own)
    left, right = (" " * (len(whole) - len(x)) for x in (whole.lstrip(), whole.rstrip()))
    old, new = (_letters(f"{left}{each}{right}" if each else "", links) for each in (was, now))
    own = [x._replace(link=each.link) for x, each in zip(own, old, strict=True)]
    lost += [f"the link “{x.words}”" for x in links if all(x != each.link for each in new)]
    # A link is one word, and another one than the same words without it.
    row = ((chr(0xE000 + links.index(x.link)) if x.link else x.text for x in y) for y in (old, new))
    part, least = (r"\s+|\S+", 5) if tracked else (r"\s|\w+|[^\w\s]", 1)
    pairs = (suggest_words(*x, part, least) for x in suggest(*map("".join, row)))
    at, kept = 0, ""
    for gone, come in chain.from_iterable(pairs):
        before, after, end = own[at : at + len(gone)], new[: len(come)], at + len(gone)
        parts = [("", before)]
        if old[at:end] != after:
            rows = own, before or own[max(0, at - 1) : at + 1]
            found = {x.link: x.look for y in rows for x in sorted(y, key=lambda x: usual[x.look])}
            after = [x._replace(look=found.get(x.link)) for x in after]
            parts = [("del", before)] * tracked + [("ins" * tracked, after)]
        at, new, kept = end, new[len(come) :], kept + "".join(x.text for x in parts[-1][1])
        for kind, letters in parts:
            for link, linked in groupby(letters, lambda each: each.link):
                place = deepcopy(link.element) if link else paragraph._p
                paragraph._p.extend([place] * bool(link))
                for (mark, look), alike in groupby(linked, lambda each: (each.mark, each.look)):
                    run = paragraph.add_run("".join(each.text for each in alike))
                    if look is not None:
                        run._r.insert(0, deepcopy(look))
                    if mark is not None:
                        run.bold, run.italic = len(mark) > 1 or None, len(mark) in (1, 3) or None
                    place.append(_element(kind, run._r) if kind else run._r)
                    for each in run._r.xpath("w:t") if kind == "del" else ():
                        each.tag = each.tag.replace("}t", "}delText")
    paragraph._p.extend(rest)
    signs = {"a line break": "\n", "a tab": "\t"} if now else {}
    return lost + [name for name, x in signs.items() if kept.count(x) < whole.count(x)]


def _find_links(paragraph: Any) -> Iterator[_Link]:
    text = ""
    for found, some in groupby(_runs(paragraph), lambda x: x._r.xpath("ancestor::w:hyperlink")):
        words = re.sub(r"\s", " ", "".join(run.text for run in some))
        if found and words.strip():
            bare = found[0].makeelement(found[0].tag, found[0].attrib, found[0].nsmap)
            yield _Link(bare, text, words.strip())
        text += words


def _letters(text: str, links: Sequence[_Link]) -> list[_Letter]:
    """Each with the marks of the emphasis that it is in, and with the link, which is where its words are."""
    letters = list[_Letter]()
    for mark, strong, within, inner, *plain in _EMPHASIS.findall(_NOT_IN_XML.sub("", text)):
        words = strong.replace("\\*", "*") or inner or "".join(plain)
        letters += [_Letter(mark or within, None, each) for each in words]
    plain, found = "".join(each.text for each in letters), []
    for link in links:
        for match in re.finditer(rf"(?<!\w){re.escape(link.words)}(?!\w)", plain):
            before = zip(link.before[::-1], plain[: match.start()][::-1], strict=False)
            found.append((-len([*takewhile(lambda x: x[0] == x[1], before)]), match.span(), link))
    # Of several places the one that most of the same stands before.
    for _, (start, end), link in sorted(found, key=lambda each: each[0]):
        if link not in (taken := [each.link for each in letters]) and not any(taken[start:end]):
            letters[start:end] = [x._replace(link=link) for x in letters[start:end]]
    return letters


def _element(kind: str, *inside: Any) -> Any:
    from docx.oxml import OxmlElement, ns

    made = OxmlElement(f"w:{kind}")
    if kind != "rPr":
        made.set(ns.qn("w:id"), str(next(_NUMBERS)))
        made.set(ns.qn("w:author"), "autoreason")
    made.extend(inside)
    return made
