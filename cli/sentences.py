"""From whatever went wrong to one sentence on stderr and an exit code; never a traceback for what can be named."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from botocore import exceptions as boto
from botocore.exceptions import BotoCoreError, ClientError

from cli.errors import CommandError
from functions.batch_get import UnreadKeysError
from functions.finish.rows import RowsDisagreeError
from functions.intake.source import SourceError, SourceGone
from functions.operate.errors import OperateError
from functions.refunds.errors import InvalidRequestError, RefundError
from functions.settings import SettingsError
from local.errors import LocalCloudError

LOCAL, AWS = "The local cloud", "AWS"

_EXPIRED = frozenset({"ExpiredToken", "ExpiredTokenException", "RequestExpired", "TokenRefreshRequired"})
_NOT_KNOWN = frozenset(
    {
        "AuthFailure",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSignatureException",
        "InvalidToken",
        "MissingAuthenticationToken",
        "MissingAuthenticationTokenException",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_DENIED = frozenset(
    {"403", "AccessDenied", "AccessDeniedException", "AuthorizationError", "Forbidden", "UnauthorizedOperation"}
)
_BUSY = frozenset({"SlowDown", "Throttling", "ThrottlingException", "TooManyRequestsException", "RequestLimitExceeded"})

NO_CREDENTIALS = "There are no usable AWS credentials; set AWS_PROFILE, or sign in (`aws sso login`, `aws configure`)."
EXPIRED = "The AWS session has expired; sign in again (such as `aws sso login`) and repeat the command."
NO_REGION = "No AWS Region is set; name it with --region, or set AWS_REGION."
_BY_CLASS: tuple[tuple[tuple[type[BotoCoreError], ...], str], ...] = (
    ((boto.UnauthorizedSSOTokenError, boto.SSOTokenLoadError, boto.TokenRetrievalError), EXPIRED),
    ((boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError), NO_CREDENTIALS),
    ((boto.SSOError, boto.RefreshWithMFAUnsupportedError), NO_CREDENTIALS),
    ((boto.ProfileNotFound,), "AWS_PROFILE names a profile that is not configured on this machine."),
    ((boto.ConfigParseError, boto.InvalidConfigError), "The AWS configuration file of this machine cannot be read."),
    ((boto.NoRegionError,), NO_REGION),
    ((boto.InvalidRegionError,), "That is no AWS Region; name one with --region, such as eu-west-1."),
)


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", "unknown"))


def is_denied(error: ClientError) -> bool:
    """Whether the service knows the caller and does not allow the call."""
    return code_of(error) in _DENIED


def sentence_of(error: Exception, where: str = AWS) -> str:
    """One sentence about an error of a cloud; `where` is LOCAL or AWS. No text of a service is repeated."""
    if isinstance(error, ClientError):
        return _client_sentence(error, where)
    for classes, sentence in _BY_CLASS:
        if isinstance(error, classes):
            return sentence
    if isinstance(error, boto.HTTPClientError | boto.ConnectionError) and where == AWS:
        return "AWS cannot be reached from here; check the network, the proxy and the Region's name."
    return f"{where} stopped answering ({type(error).__name__})."


def _client_sentence(error: ClientError, where: str) -> str:
    code = code_of(error)
    if code in _EXPIRED:
        return EXPIRED
    if code in _NOT_KNOWN:
        return f"AWS does not accept these credentials ({code}); check AWS_PROFILE, or sign in again."
    if code in _DENIED:
        return f"These credentials may not call {error.operation_name}; have it allowed, or use another profile."
    if code in _BUSY:
        return f"{where} is throttling {error.operation_name}; repeat the command in a moment."
    return f"{where} refused {error.operation_name}: {code}."


def _operated(error: Exception) -> str:
    gone = "The uploaded file is not kept any more, so its rows cannot be shown."
    return gone if isinstance(error, SourceGone) else str(error)


@contextmanager
def sentences(where: str = AWS) -> Iterator[None]:
    """What went wrong inside, as one sentence on stderr and its exit code."""
    try:
        yield
    except CommandError as error:
        sentence, exit_code = str(error), error.exit_code
    except (OperateError, SourceGone) as error:
        sentence, exit_code = _operated(error), 1
    except RefundError as error:
        sentence, exit_code = str(error), 2 if isinstance(error, InvalidRequestError) else 1
    except (LocalCloudError, RowsDisagreeError, SettingsError, UnreadKeysError) as error:
        sentence, exit_code = str(error), 2
    except SourceError as error:
        sentence, exit_code = f"The uploaded file cannot be read: {error.code}.", 2
    except (ClientError, BotoCoreError) as error:
        sentence, exit_code = sentence_of(error, where), 2
    else:
        return
    print(sentence, file=sys.stderr)
    raise typer.Exit(exit_code)
