"""A provider's error, in any format, is classed by its fields; how long it asks us to wait is understood."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import cases

from autoreason.errors import CallFailed, Failure
from autoreason.models.failures import read_error, refusal, retry_after


def refused(body: Any, status: int, headers: Mapping[str, str] | None = None) -> CallFailed:
    content = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return refusal("acme", status, headers or {}, read_error(content), str)


ANTHROPIC_BROKE = {
    "type": "error",
    "error": {
        "type": "invalid_request_error",
        "message": "Your credit balance is too low to access the Anthropic API. Please pay.",
    },
}
GEMINI_KEY = {
    "error": {
        "code": 400,
        "message": "API key not valid. Please pass a valid API key.",
        "status": "INVALID_ARGUMENT",
        "details": [
            {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        ],
    }
}
OPENAI_QUOTA = {
    "error": {
        "message": "You exceeded your current quota, please check your plan and billing details.",
        "type": "insufficient_quota",
        "param": None,
        "code": "insufficient_quota",
    }
}
REGION = {
    "error": {
        "message": "Country, region, or territory not supported",
        "type": "request_forbidden",
        "code": "unsupported_country_region_territory",
    }
}
BLOCKED = b"<!DOCTYPE html>\n<html><head><title>Access token | Wall</title></head></html>"
GENERATE = {
    "error": {
        "message": "Cannot generate at this rate, billing aside",
        "type": "invalid_request_error",
    }
}


@cases(
    ("status", "body", "failure"),
    [
        (400, {"error": {"message": "no"}}, Failure.BAD_REQUEST),
        (400, GENERATE, Failure.BAD_REQUEST),
        (400, GEMINI_KEY, Failure.BAD_KEY),
        (400, ANTHROPIC_BROKE, Failure.NO_CREDIT),
        (400, {"error": {"message": "no", "code": "json_validate_failed"}}, Failure.BROKEN_REPLY),
        (401, {}, Failure.BAD_KEY),
        (402, {}, Failure.NO_CREDIT),
        (403, {}, Failure.NO_ACCESS),
        (403, REGION, Failure.NO_ACCESS),
        (403, BLOCKED, Failure.NO_ACCESS),
        (403, {"error": {"message": "Missing scopes: model.read"}}, Failure.NO_ACCESS),
        (403, {"error": {"message": "Your API key may not use this model"}}, Failure.BAD_KEY),
        (403, {"error": {"code": "invalid_api_key"}}, Failure.BAD_KEY),
        (404, {}, Failure.BAD_REQUEST),
        (408, {}, Failure.TIMEOUT),
        (409, {}, Failure.OVERLOADED),
        (413, {}, Failure.BAD_REQUEST),
        (429, {}, Failure.RATE_LIMIT),
        (429, OPENAI_QUOTA, Failure.NO_CREDIT),
        (500, {}, Failure.OVERLOADED),
        (502, b"<html>Bad gateway</html>", Failure.OVERLOADED),
        (503, {}, Failure.OVERLOADED),
        (504, {}, Failure.TIMEOUT),
        (529, {"type": "error", "error": {"type": "overloaded_error"}}, Failure.OVERLOADED),
    ],
)
def test_an_error_status_is_classed_by_its_fields(status: int, body: Any, failure: Failure) -> None:
    found = refused(body, status)
    assert str(found).startswith(f"acme answered {status}: ")
    assert (found.failure, found.status) == (failure, status)


@cases(
    ("body", "message", "param"),
    [
        ({"error": {"message": "A.", "param": "temperature"}}, "A.", "temperature"),
        ({"code": "Client specified an invalid argument", "error": "B."}, "B.", None),
        ({"object": "error", "message": "C.", "type": "BadRequestError"}, "C.", None),
        (
            {"detail": [{"loc": ["body", "top"], "msg": "D", "type": "extra_forbidden"}]},
            "top: D",
            "top",
        ),
        (
            {"object": "error", "message": {"detail": [{"loc": ["body", "n"], "msg": "E"}]}},
            "n: E",
            "n",
        ),
        ([{"error": {"message": "F."}}], "F.", None),
        (b"plain words", "plain words", None),
        (BLOCKED, "a web page, 'Access token | Wall'", None),
        (b"\n<html><h1>Forbidden</h1></html>", "a web page without a title", None),
        (b"<3", "<3", None),
        ([], "", None),
        ("G", "G", None),
        (None, "None", None),
    ],
)
def test_every_shape_of_error_is_understood(body: Any, message: str, param: str | None) -> None:
    reported = read_error(body if isinstance(body, bytes) else msgspec.json.encode(body))
    assert (reported.message, reported.param) == (message, param)


FIELDS = ["error", "message", "detail", "details", "loc", "code", "type", "param", "metadata"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers(0, 600) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(ANYTHING)
def test_no_error_body_is_too_strange(body: Any) -> None:
    reported = read_error(msgspec.json.encode(body))
    assert refusal("acme", 500, {}, reported, str).failure in Failure


# When to ask again

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@cases(
    ("headers", "reported", "wait"),
    [
        ({"retry-after": "7"}, None, 7.0),
        ({"retry-after": "0.5"}, 34.5, 0.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, None, 0.25),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT"}, None, 30.0),
        ({"retry-after": "Wed, 31 Dec 2025 00:00:30 GMT"}, None, 0.0),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 -0000"}, None, 30.0),
        ({"retry-after": "soon"}, None, None),
        ({"retry-after": "nan"}, None, None),
        ({}, 34.5, 34.5),
        ({}, None, None),
    ],
)
def test_the_wait_a_provider_asks_for_is_understood(
    headers: dict[str, str], reported: float | None, wait: float | None
) -> None:
    assert retry_after(headers, reported, NOW) == wait


QUOTA = "GenerateRequestsPer{}PerProjectPerModel-FreeTier"


@pytest.mark.parametrize(("period", "retry"), [("Day", False), ("Minute", None)])
def test_geminis_details_say_how_long_to_wait_and_whether_that_helps(
    period: str, retry: bool | None
) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34s"},
        {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{"quotaId": QUOTA.format(period), "quotaValue": "50"}],
        },
    ]
    error = {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": details}
    found = refused({"error": error}, 429)
    assert (found.failure, found.retry_after, found.retry) == (Failure.RATE_LIMIT, 34.0, retry)


@pytest.mark.parametrize(
    ("header", "retry"), [("true", True), ("false", False), ("maybe", None), (None, None)]
)
def test_a_provider_may_say_whether_to_try_again(header: str | None, retry: bool | None) -> None:
    headers = {} if header is None else {"x-should-retry": header}
    assert refused({}, 500, headers).retry is retry
