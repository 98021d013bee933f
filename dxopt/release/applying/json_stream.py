"""The features of GeoJSON, one after another, without the whole file in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from dxopt.errors import SpecError

_BLOCK = 1 << 20
_BLANK = " \t\n\r"
_AFTER = (*_BLANK, ",", "}", "]")
_FEATURES = "features"


class JsonStream:
    """Reads an object of JSON whose member `features` is a long list.

    Attributes
    ----------
    members : dict
        The other members that were read by now.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._text = ""
        self._place = 0
        self._ended = False
        self._decoder = json.JSONDecoder()
        self.members: dict[str, Any] = {}

    def features(self) -> Iterator[Any]:
        """The entries of `features`; SpecError where the text is no such object."""
        self._expect("{")
        found = False
        if self._peek() != "}":
            while True:
                name = self._value()
                self._expect(":")
                if name == _FEATURES and self._peek() == "[":
                    found = True
                    yield from self._entries()
                else:
                    self.members[str(name)] = self._value()
                if self._peek() != ",":
                    break
                self._expect(",")
        self._expect("}")
        if self._peek() or not found:
            raise _no_collection()

    def _entries(self) -> Iterator[Any]:
        self._expect("[")
        if self._peek() == "]":
            self._expect("]")
            return
        while True:
            yield self._value()
            if self._peek() != ",":
                break
            self._expect(",")
        self._expect("]")

    def _expect(self, mark: str) -> None:
        if self._peek() != mark:
            raise _no_collection()
        self._place += 1

    def _peek(self) -> str:
        """The next character that is no blank; none at the end."""
        while True:
            while self._place < len(self._text) and self._text[self._place] in _BLANK:
                self._place += 1
            if self._place < len(self._text):
                return self._text[self._place]
            if not self._more():
                return ""

    def _value(self) -> Any:
        """The value that is next."""
        self._peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._place)
                # a number may go on beyond what has been read, as 0 does with "0." and more
                if self._ended or isinstance(value, str | list | dict) or self._text[end : end + 1] in _AFTER:
                    self._place = end
                    return value
            except ValueError:
                if self._ended:
                    raise _no_collection() from None
            except RecursionError:
                raise _no_collection() from None
            self._more(len(self._text) - self._place)

    def _more(self, least: int = 0) -> bool:
        """Read on, at least so much, and forget what was used; false at the end."""
        try:
            block = self._stream.read(max(_BLOCK, least))
        except UnicodeDecodeError:
            raise SpecError("data", "is no text in UTF-8", "save it as UTF-8") from None
        self._ended = not block
        self._text = self._text[self._place :] + block
        self._place = 0
        return bool(block)


def _no_collection() -> SpecError:
    return SpecError(
        "data", "is no GeoJSON FeatureCollection, or damaged", "write it again, as one FeatureCollection"
    )
