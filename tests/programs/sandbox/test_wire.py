"""Messages arrive as they were sent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from autoreason.programs.sandbox.base import SOURCE_LIMIT
from autoreason.programs.sandbox.fork_server import (
    END_REASONS,
    MAX_MESSAGE_BYTES,
    ROLES,
    ProgramSpec,
    RunReport,
)

seconds = st.floats(0, 1e6)
amounts = st.integers(0, 2**63)
anything = st.text(st.characters(codec=None))


@given(st.builds(ProgramSpec, st.sampled_from(ROLES), seconds, amounts, amounts, anything))
def test_a_program_arrives_as_it_was_sent(spec: ProgramSpec) -> None:
    assert ProgramSpec.unpack(spec.pack()) == spec


@given(
    st.builds(
        RunReport, st.sampled_from(END_REASONS), st.integers(-64, 255), seconds, seconds, amounts
    )
)
def test_a_report_arrives_as_it_was_sent(report: RunReport) -> None:
    assert RunReport.unpack(report.pack()) == report


def test_the_longest_source_fits_into_a_message() -> None:
    assert len(ProgramSpec("program", 1.0, 1, 1, "x" * SOURCE_LIMIT).pack()) <= MAX_MESSAGE_BYTES
