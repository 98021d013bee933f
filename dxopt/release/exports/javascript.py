"""A table as a script for browsers and Node, which has the table in it."""

from __future__ import annotations

from base64 import b64encode
from importlib.resources import files

from dxopt.release.exports.rows import heading
from dxopt.release.tables import IntegerTable

_END = """
const dxoptTable = new dxopt.Table(dxopt.fromBase64("{content}"));
if (typeof module === "object" && module.exports) module.exports = {{ dxopt, table: dxoptTable }};
else Object.assign(globalThis, {{ dxopt, dxoptTable }});
"""


def sampler() -> str:
    """The script that draws from tables, without a table."""
    return files("dxopt.release.exports").joinpath("assets", "sampler.js").read_text(encoding="utf-8")


def javascript(table: IntegerTable) -> str:
    """The script with a table in it: `dxoptTable` in a browser, `require(file).table` in Node.

    What only a proof needs, distances and the prior, is left out; the head has the digest of the whole file.
    """
    content = b64encode(table.encoded(small=True)).decode("ascii")
    return f"// {heading(table)}, made of the table {table.digest}\n{sampler()}{_END.format(content=content)}"
