"""Telling people, through the alerts topic, that a file was refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from functions.crash_points import crossing
from functions.text import one_line

if TYPE_CHECKING:
    from mypy_boto3_sns.client import SNSClient

SUBJECT = "Prospect Uploader: a file was refused"


class NoticeError(Exception):
    """The alerts topic did not take a notice."""

    def __init__(self, code: str) -> None:
        super().__init__(f"the alerts topic did not take a notice: {code}")
        self.code = code


class Notices:
    """Publishes to the alerts topic."""

    def __init__(self, sns: SNSClient, topic_arn: str) -> None:
        self._sns = sns
        self._topic_arn = topic_arn

    def refused(self, object_key: str, code: str, sentence: str) -> None:
        """Send the sentence to the subscribers. Raises NoticeError."""
        end = "No row was classified and nothing was billed."
        message = f"{sentence}\n\nFile: {one_line(object_key)}\nReason: {code}\n\n{end}"
        try:
            with crossing("intake.notice"):
                self._sns.publish(TopicArn=self._topic_arn, Subject=SUBJECT, Message=message)
        except ClientError as error:
            raise NoticeError(error.response["Error"]["Code"]) from None
        except BotoCoreError as error:
            raise NoticeError(type(error).__name__) from None
