"""Keys: secrets of 32 bytes from which draws are made that can be repeated."""

from __future__ import annotations

import hmac
import os
import re
import secrets
from pathlib import Path
from typing import Any, NoReturn

from dxopt.errors import SpecError, required
from dxopt.runtime.atomic_write import replacing
from dxopt.runtime.identity import composed, encoded
from dxopt.runtime.reading import MOST_KEY, as_path, open_file, require_private

VARIABLE = "DXOPT_KEY"
_BYTES = 32
_DIGITS = re.compile(r"[0-9a-fA-F]{64}")
_LIKE_A_KEY = re.compile(r"[0-9a-fA-F]{32}")
"""Digits in the name of a file that no message should show."""
_FIX = "give 64 hexadecimal digits, as dx.Key.new().save(file) writes them"


class Key:
    """A secret of 32 bytes. It is in no result, and is not printed, logged or pickled; `fingerprint` names it.

    Draws with a key give a person at a secret the same report again. They suit secrets that stay: whether a person's
    secret was the same again shows in the reports, however close the secrets are.

    Parameters
    ----------
    content : bytes
        32 of them, drawn at random, as `Key.new` does.

    Attributes
    ----------
    fingerprint : str
        Eight hexadecimal digits that say which key was used, and nothing else of it.

    Raises
    ------
    SpecError
        If there are not 32 bytes.

    Examples
    --------
    >>> import dxopt as dx
    >>> key = dx.Key(bytes(range(32)))  # dx.Key.new() makes one that nobody knows
    >>> print(key, len(key.fingerprint))
    <Key 9e39bbe0> 8
    """

    __slots__ = ("_content", "fingerprint")

    def __init__(self, content: bytes) -> None:
        if not isinstance(content, bytes) or len(content) != _BYTES:
            raise SpecError("key", "is not made of 32 bytes", "use dx.Key.new() or dx.Key.load(file)")
        self._content = content
        self.fingerprint = self.digest("dxopt key").hex()[:8]

    @classmethod
    def new(cls) -> Key:
        """Make a key from the operating system's randomness.

        Examples
        --------
        >>> import dxopt as dx
        >>> key = dx.Key.new()
        >>> print(len(key.fingerprint), dx.Key.load(key.save("town.key")).fingerprint == key.fingerprint)
        8 True
        """
        return cls(secrets.token_bytes(_BYTES))

    @classmethod
    def load(cls, file: str | Path) -> Key:
        """Read the key in a file of 64 hexadecimal digits.

        Raises
        ------
        SpecError
            If the file cannot be read, others than its owner may read it, or it holds no key.
        """
        path = _path_of(file)
        try:
            with open_file(path, MOST_KEY) as stream:
                mode = os.fstat(stream.fileno()).st_mode
                text = stream.read().decode("ascii", "replace")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise SpecError("key", f"{path} cannot be read: {reason}", "name the file of a key") from None
        require_private(path, mode, "key")
        return cls._from_digits(text, f"{path} holds no key")

    @classmethod
    def from_environment(cls, variable: str = VARIABLE) -> Key:
        """Read the key in an environment variable, as 64 hexadecimal digits.

        Raises
        ------
        SpecError
            If there is none.

        Examples
        --------
        >>> import dxopt as dx
        >>> import os
        >>> os.environ["MY_KEY"] = "00" * 32
        >>> print(dx.Key.from_environment("MY_KEY").fingerprint == dx.Key(bytes(32)).fingerprint)
        True
        """
        required("variable", variable, str, "give the name of an environment variable")
        if variable not in os.environ:
            raise SpecError("key", f"{variable} is not set", _FIX)
        return cls._from_digits(os.environ[variable], f"{variable} holds no key")

    @classmethod
    def _from_digits(cls, text: str, wrong: str) -> Key:
        """Return the key of 64 hexadecimal digits; SpecError, which says what is `wrong` and never the text."""
        if not _DIGITS.fullmatch(text.strip()):
            raise SpecError("key", wrong, _FIX)
        return cls(bytes.fromhex(text.strip()))

    def save(self, file: str | Path) -> Path:
        """Write the key to a new file that its owner alone may read.

        Raises
        ------
        SpecError
            If there is such a file, as what was drawn with the key in it could not be repeated; or it cannot be
            written.
        """
        path = _path_of(file)
        with replacing(path, "key", private=True) as stream:
            stream.write(f"{self._content.hex()}\n".encode("ascii"))
        return path

    def digest(self, *fields: str) -> bytes:
        """Return the HMAC-SHA256 of some texts under the key.

        Each is four bytes of length, the highest first, and its UTF-8, so that no two lists are one message.

        Raises
        ------
        SpecError
            If one has half of a surrogate pair, which has no UTF-8.

        Examples
        --------
        >>> import dxopt as dx
        >>> print(dx.Key(bytes(32)).digest("ann", "May").hex()[:16])
        a5310ea07f9cd2be
        """
        written = [encoded(field, "text") for field in fields]
        message = b"".join(len(field).to_bytes(4, "big") + field for field in written)
        return hmac.digest(self._content, message, "sha256")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and hmac.compare_digest(self._content, other._content)

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __repr__(self) -> str:
        return f"<Key {self.fingerprint}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not pickled; load it from its file where it is needed")


def require_release(name: Any) -> None:
    """Raise SpecError unless this is the name of a release in its one spelling, as another one draws anew."""
    if not isinstance(name, str) or not composed(name):
        raise SpecError("release", "is no name", "name what is published by a text, such as 'autumn'")
    encoded(name, "release")
    if composed(name) != name:
        wrong = f"is {name!r}, with blanks, marks that are not seen, or letters in parts"
        raise SpecError("release", wrong, f"write {composed(name)!r}")


def _path_of(file: str | Path) -> Path:
    """Return the name of a file of a key as a path; SpecError, which hides it, where it may be a key itself."""
    path = as_path(file, "file")
    if _LIKE_A_KEY.search(path.name):
        raise SpecError("key", "the name of the file may be a key itself", "name a file that has the key in it")
    return path
