"""Formulas of the pages: LaTeX between dollars as MathML, which browsers draw; indices in plain text."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

_LATEX = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', flags=re.DOTALL)
_KEPT = re.compile(r"(<pre.*?</pre>|<code.*?</code>|<math.*?</math>|<[^>]*>)", flags=re.DOTALL)
_MI = r"<mi>[^<]*</mi>"
_PRIMED = re.compile(rf"<(msup|msubsup)>(?P<letter>{_MI})(?P<index>{_MI})?<mi>&#x02032;</mi></\1>")
_LETTER = "A-Za-zΑ-Ωα-ωℓ~"
_INDEX = re.compile(
    rf"((?<![{_LETTER}\w])(?:[{_LETTER}]|arg ?(?:min|max)|min|max|log|‖)'?)_(\{{[^{{}}]+\}}|[{_LETTER}\d∞]'?)(?!\w)"
)
_POWER = re.compile(rf"(?<=[{_LETTER}\d)₂])\^(\{{[^{{}}]+\}}|[-−]?\d+(?:\.\d+)?|[{_LETTER}](?!\w))")


def typeset(page: str) -> str:
    """Return the HTML of a page with its formulas as MathML, and indices and exponents outside of code as such."""
    page = _LATEX.sub(_mathml, page)
    parts = _KEPT.split(page)
    parts[::2] = [_POWER.sub(_raised, _INDEX.sub(_lowered, part)) for part in parts[::2]]
    return "".join(parts)


def _mathml(found: re.Match[str]) -> str:
    block = found[1] == "div"
    formula = _PRIMED.sub(_primed, convert(html.unescape(found[2]), display="block" if block else "inline"))
    return f'<div class="formula">{formula}</div>' if block else formula


def _primed(found: re.Match[str]) -> str:
    """Return a letter with its prime beside it; as an exponent, where the converter has it, it stands too high."""
    letter = f'<mrow>{found["letter"]}<mo lspace="0" rspace="0">&#x2032;</mo></mrow>'
    return f"<msub>{letter}{found['index']}</msub>" if found["index"] else letter


def _lowered(found: re.Match[str]) -> str:
    return f"{found[1]}<sub>{found[2].strip('{}')}</sub>"


def _raised(found: re.Match[str]) -> str:
    return f"<sup>{found[1].strip('{}').replace('-', '−')}</sup>"
