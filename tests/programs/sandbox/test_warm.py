"""A program's imports are found before it runs."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreason.programs.sandbox.execution import (
    COMMON_MODULES,
    IMPORTABLE,
    MISSING_HOME,
    REFUSED_MODULES,
    imported_modules,
    preload,
)


@pytest.mark.parametrize(
    ("source", "modules"),
    [
        ("import colorsys", {"colorsys"}),
        ("import os,sys , cmath as c", {"os", "sys", "cmath"}),
        ("import xml.etree.ElementTree as tree", {"xml.etree.ElementTree"}),
        ("from heapq import *", {"heapq"}),
        ("from os import path", {"os", "os.path"}),
        ("from concurrent import futures", {"concurrent", "concurrent.futures"}),
        ("from math import (gcd,\n  sqrt as root)", {"math", "math.gcd", "math.sqrt"}),
        ("x = 1; import bisect; y = 2", {"bisect"}),
        ("from sys import stdin\nimport hashlib", {"sys", "sys.stdin", "hashlib"}),
        ("from math import (\n  gcd)\nimport csv", {"math", "math.gcd", "csv"}),
        ("def f():\n    import wave", {"wave"}),
        ("wave = __import__('wave')", {"wave"}),
        ('importlib.import_module( "wave" )', {"wave"}),
        ("exec('import wave')", {"wave"}),
        ("important = reimport", set()),
        ("", set()),
    ],
)
def test_what_looks_like_an_import_is_found(source: str, modules: set[str]) -> None:
    assert set(imported_modules(source)) == modules


@given(st.text())
def test_any_text_can_be_looked_through(source: str) -> None:
    assert all(isinstance(name, str) for name in imported_modules(source))


def test_programs_inside_packages_are_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    monkeypatch.setattr(importlib, "import_module", tried.append)
    preload("import unittest.__main__, ctypes.test, this, antigravity, wave, os.path, numpy")
    assert tried == ["wave"]


def test_modules_that_look_for_a_home_find_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    homes: list[Path] = []
    monkeypatch.setattr(importlib, "import_module", lambda _: homes.append(Path.home()))
    preload("import sysconfig, readline")
    assert homes == [Path(MISSING_HOME)] * 2
    assert "HOME" not in os.environ


def test_modules_that_do_things_when_imported_are_left_to_the_program() -> None:
    assert not IMPORTABLE & {"antigravity", "this", "idlelib", "turtle", "tkinter"}
    assert sys.stdlib_module_names > IMPORTABLE
    assert not {name.partition(".")[0] for name in COMMON_MODULES} & REFUSED_MODULES
