"""Why a connection failed is said in plain words."""

from __future__ import annotations

import socket
import ssl
from types import SimpleNamespace
from typing import cast

import pytest
from aiohttp import ClientConnectorCertificateError, ClientConnectorError, ServerDisconnectedError
from aiohttp.client_reqrep import ConnectionKey

from autoreason.models.connection import said_of

HOST = cast("ConnectionKey", SimpleNamespace(host="far.example", port=443, ssl=True, is_ssl=True))


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('::1', 9)"), "Connection refused"),
        (TimeoutError(110, "Connect call failed ('10.0.0.1', 80)"), "Connection timed out"),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (OSError("Multiple exceptions: one, two"), "Multiple exceptions: one, two"),
        (ssl.SSLError(1, "odd"), "no secure connection: odd"),
    ],
)
def test_a_failed_connection_is_told_without_its_tail(cause: OSError, said: str) -> None:
    assert said_of(ClientConnectorError(HOST, cause)) == said


def test_a_certificate_nobody_trusts_is_named() -> None:
    cause = ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] (_ssl.c:1006)")
    cause.verify_message = "self-signed certificate"
    said = said_of(ClientConnectorCertificateError(HOST, cause))
    assert said == "its certificate is not trusted: self-signed certificate"


def test_other_errors_speak_for_themselves() -> None:
    assert said_of(ServerDisconnectedError()) == "Server disconnected"
    assert said_of(ValueError()) == "ValueError"
