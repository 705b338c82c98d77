"""Markdown as a page may show it: our own elements, and every character of a text as a character."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree as Tree

from autoreason.characters import without_controls
from autoreason.contract import HEADING, heading_text

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}$")
_QUOTE = re.compile(r" {0,3}>[ \t]?(.*)$")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|(\d{1,9})[.)])[ \t]+(\S.*)$")
_ROW = re.compile(r" {0,3}\|(.+)\|[ \t]*$")
_DIVIDER = re.compile(r" {0,3}\|(?:[ \t]*:?-+:?[ \t]*\|)+[ \t]*$")
_INLINE = re.compile(
    r"(?P<code>(?P<ticks>`+)(?!`)(?P<inside>.+?)(?<!`)(?P=ticks)(?!`))"
    r"|(?P<strong>\*\*(?=\S)(?P<bold>.+?)(?<=\S)\*\*(?!\*))"
    r"|(?P<em>(?<!\w)(?P<mark>[*_])(?=[^\s*_])(?P<slanted>[^*_]*?[^\s*_])(?P=mark)(?!\w))"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])",
    re.DOTALL,
)
_TOP = 3
"""A text's first heading stands below the page's own two."""
_DEEPEST = 8
_FULL = 60


def render(text: str) -> str:
    """Safe HTML: paragraphs, headings, lists, quotes, tables, code and emphasis; links stay as written."""
    root = Tree.Element("div")
    _blocks(root, without_controls(text).expandtabs(4).splitlines(), 0)
    html = Tree.tostring(root, encoding="unicode", method="html")
    return html.removeprefix("<div>").removesuffix("</div>")


def _blocks(parent: Tree.Element, lines: list[str], depth: int) -> None:
    at = 0
    while at < len(lines):
        line = lines[at]
        if not line.strip():
            at += 1
        elif fence := _FENCE.match(line):
            at = _code(parent, lines, at, fence.group(1))
        elif heading := HEADING.match(line):
            level = min(6, _TOP + len(heading.group(1)) - 1)
            _inline(Tree.SubElement(parent, f"h{level}"), heading_text(heading.group(2)))
            at += 1
        elif _RULE.match(line):
            Tree.SubElement(parent, "hr")
            at += 1
        else:
            at = _longer(parent, lines, at, depth)


def _longer(parent: Tree.Element, lines: list[str], at: int, depth: int) -> int:
    """A quote, list, table or paragraph; where it ends."""
    if depth < _DEEPEST and _QUOTE.match(lines[at]):
        quoted = list(_while(_QUOTE, lines, at))
        _blocks(Tree.SubElement(parent, "blockquote"), [m.group(1) for m in quoted], depth + 1)
        return at + len(quoted)
    if depth < _DEEPEST and (item := _ITEM.match(lines[at])):
        return _list(parent, lines, at, item, depth)
    if _ROW.match(lines[at]) and at + 1 < len(lines) and _DIVIDER.match(lines[at + 1]):
        return _table(parent, lines, at)
    return _paragraph(parent, lines, at)


def _while(pattern: re.Pattern[str], lines: list[str], at: int) -> Iterator[re.Match[str]]:
    for line in lines[at:]:
        found = pattern.match(line)
        if not found:
            return
        yield found


def _code(parent: Tree.Element, lines: list[str], at: int, fence: str) -> int:
    end = at + 1
    while end < len(lines) and not lines[end].strip().startswith(fence):
        end += 1
    inside = Tree.SubElement(Tree.SubElement(parent, "pre"), "code")
    inside.text = "\n".join(lines[at + 1 : end])
    return end + 1


def _list(parent: Tree.Element, lines: list[str], at: int, first: re.Match[str], depth: int) -> int:
    """Items of one indentation; deeper lines belong to the item above them."""
    indent, number = len(first.group(1)), first.group(2)
    whole = Tree.SubElement(parent, "ol" if number else "ul")
    if number and int(number) != 1:
        whole.set("start", number)
    while at < len(lines):
        item = _ITEM.match(lines[at])
        if not item or abs(len(item.group(1)) - indent) > 1 or bool(item.group(2)) != bool(number):
            break
        end = _end_of_item(lines, at, indent)
        entry = Tree.SubElement(whole, "li")
        inside = _dedented(lines[at + 1 : end])
        flow = next((n for n, line in enumerate(inside) if _begins_block(line)), len(inside))
        _inline(entry, _flowing([item.group(3), *inside[:flow]]))
        _blocks(entry, inside[flow:], depth + 1)
        at = end
        while at + 1 < len(lines) and not lines[at].strip() and _ITEM.match(lines[at + 1]):
            at += 1
    return at


def _end_of_item(lines: list[str], at: int, indent: int) -> int:
    end = at + 1
    while end < len(lines):
        line = lines[end]
        following = lines[end + 1] if end + 1 < len(lines) else ""
        deeper = _indent(line) > indent + 1
        if not line.strip():
            if not following.strip() or _indent(following) <= indent + 1:
                break
        elif not deeper and (_begins_block(line) or not lines[end - 1].strip()):
            break
        end += 1
    return end


def _dedented(lines: list[str]) -> list[str]:
    least = min((_indent(line) for line in lines if _indent(line)), default=0)
    return [line[min(least, _indent(line)) :] for line in lines]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" ")) if line.strip() else 0


def _begins_block(line: str) -> bool:
    kinds = (_FENCE, HEADING, _RULE, _QUOTE, _ITEM)
    return not line.strip() or any(kind.match(line) for kind in kinds)


def _table(parent: Tree.Element, lines: list[str], at: int) -> int:
    rows = [row.group(1).split("|") for row in _while(_ROW, lines, at)]
    # In a box of its own: a wide table scrolls, the page does not.
    box = Tree.SubElement(parent, "div", {"class": "wide"})
    table = Tree.SubElement(box, "table")
    for cells, kind in [(rows[0], "th"), *((row, "td") for row in rows[2:])]:
        line = Tree.SubElement(table, "tr")
        for cell in cells:
            _inline(Tree.SubElement(line, kind), cell.strip())
    return at + len(rows)


def _paragraph(parent: Tree.Element, lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and not _begins_block(lines[end]):
        end += 1
    _inline(Tree.SubElement(parent, "p"), _flowing(lines[at:end]))
    return end


def _flowing(lines: list[str]) -> str:
    """Lines as one text: a full line was broken to fit a window, a short one because its author meant it."""
    joints = [" " if len(line.rstrip()) >= _FULL else "\n" for line in lines[:-1]]
    return "".join(line.strip() + joint for line, joint in zip(lines, [*joints, ""], strict=True))


def _inline(parent: Tree.Element, text: str, depth: int = 0) -> None:
    """Emphasis and code; a new line is a new line."""
    at = 0
    for found in _INLINE.finditer(text) if depth < _DEEPEST else ():
        _add_text(parent, text[at : found.start()])
        at = found.end()
        if found["code"]:
            Tree.SubElement(parent, "code").text = found["inside"].strip()
        elif found["strong"]:
            _inline(Tree.SubElement(parent, "strong"), found["bold"], depth + 1)
        elif found["em"]:
            _inline(Tree.SubElement(parent, "em"), found["slanted"], depth + 1)
        else:
            _add_text(parent, found["escaped"])
    _add_text(parent, text[at:])


def _add_text(parent: Tree.Element, text: str) -> None:
    for number, line in enumerate(text.split("\n")):
        if number:
            Tree.SubElement(parent, "br")
        if len(parent):
            parent[-1].tail = (parent[-1].tail or "") + line
        else:
            parent.text = (parent.text or "") + line
