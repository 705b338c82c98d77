"""The verdicts of a test, kept with the records it was about."""

from __future__ import annotations

from datetime import UTC, datetime

from autoreason.job_types import KnowledgeTest
from autoreason.knowledge.holdout import TestResult, read_tests, record_test
from autoreason.story import Story
from autoreason.studies.knowledge_test.knowledge_report import knowledge_report


def keep_verdicts(story: Story, run: str) -> None:
    """Append the verdict on every judge to those of the folder, once."""
    assert story.settings is not None
    folder = story.settings.job_as(KnowledgeTest).folder
    if any(each.run == run for each in read_tests(folder)):
        return
    for each in knowledge_report(story).judges:
        record_test(
            folder,
            TestResult(
                judge=each.judge,
                verdict=each.verdict,
                difference=each.gain.value or 0.0,
                low=each.gain.low,
                high=each.gain.high,
                pairs=each.pairs,
                groups=each.groups,
                when=datetime.now(UTC).isoformat(timespec="seconds"),
                run=run,
                weight=each.weight,
                weight_without=each.weight_without,
            ),
        )
