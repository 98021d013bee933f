"""Tables in other languages: JavaScript, SQL, JSON, and the file that all of them are made of."""

from dxopt.release.exports.export import TARGETS, export

__all__ = ["TARGETS", "export"]
