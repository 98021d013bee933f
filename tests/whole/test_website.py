"""The site: it has every public name, and what checks it sees what is wrong."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

import dxopt as dx
from docs.website import api, papers
from docs.website.checks import faults


def test_the_api_has_every_public_name() -> None:
    text = "\n".join(api.pages().values())
    for name in dx.__all__:
        found = getattr(dx, name)
        names = [f"dx.{name}.{one}" for one in api.names_in(found)] if inspect.ismodule(found) else [f"dx.{name}"]
        assert names
        assert not [one for one in names if f'heading: "{one}"' not in text]


def test_every_public_name_has_a_docstring() -> None:
    assert list(api.undocumented()) == []


def test_a_name_without_docstring_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dx.Problem.at, "__doc__", None)
    monkeypatch.setattr(dx.classic.geometric, "__doc__", None)
    assert list(api.undocumented()) == ["dx.Problem.at", "dx.classic.geometric"]


def test_what_is_wrong_with_a_site_is_found(tmp_path: Path) -> None:
    (tmp_path / "other.html").write_text("<h1 id='there'>x</h1>", encoding="utf-8")
    (tmp_path / "style.css").write_text("body { background: url(https://a.example/b.png) }", encoding="utf-8")
    (tmp_path / "index.html").write_text(
        "<script src='https://a.example/b.js'></script><a href='https://a.example'>fine</a>"
        "<a href='other.html#there'></a><a href='other.html#gone'></a><a href='gone.html'></a><img src='gone.png'>",
        encoding="utf-8",
    )
    (tmp_path / "__pycache__").mkdir()
    (tmp_path / "__pycache__" / "hooks.pyc").write_bytes(b"")
    assert list(faults(tmp_path)) == [
        "__pycache__/hooks.pyc: is code that builds the site; exclude it in mkdocs.yml",
        "index.html: loads https://a.example/b.js",
        "index.html: gone.png leads nowhere",
        "index.html: other.html#gone leads nowhere",
        "index.html: gone.html leads nowhere",
        "style.css: loads https://a.example/b.png",
    ]


def test_parameters_that_are_described_together_are_read_apart() -> None:
    pytest.importorskip("griffe")
    from docs.website.parameters import apart

    shared = "Does it.\n\nsolver, time_limit\n    As for one.\nlow, high : float\n    Both.\n"
    assert apart(shared + 'device : {"gpu", "cpu"}, optional\n    What.') == (
        "Does it.\n\nsolver\n    As for one.\ntime_limit\n    As for one.\n"
        'low : float\n    Both.\nhigh : float\n    Both.\ndevice : "gpu" or "cpu", optional\n    What.'
    )


def test_formulas_are_typeset_and_code_is_left_alone() -> None:
    pytest.importorskip("latex2mathml")
    from docs.website.formulas import typeset

    assert typeset("e^{-εd(x, x')}, 2^64, 10^-12 and w^2.2") == (
        "e<sup>−εd(x, x')</sup>, 2<sup>64</sup>, 10<sup>−12</sup> and w<sup>2.2</sup>"
    )
    assert typeset("Σ_z max_x π_x K[x, z_i] by e^{Σ_i d(x_i, x'_i)}, d_∞") == (
        "Σ<sub>z</sub> max<sub>x</sub> π<sub>x</sub> K[x, z<sub>i</sub>] by "
        "e<sup>Σ<sub>i</sub> d(x<sub>i</sub>, x'<sub>i</sub>)</sup>, d<sub>∞</sub>"
    )
    kept = '<a href="a_b^2">max_loss</a> <code>x_i e^{2}</code> <pre>x_i</pre> __init__ worst_loss'
    assert typeset(kept) == kept
    inline = typeset(r'<span class="arithmatex">\(x_1 &lt; θ\)</span>')
    assert inline.startswith("<math") and "<msub><mi>x</mi><mn>1</mn></msub>" in inline and "&#x0003C;" in inline
    block = typeset(r"""<div class="arithmatex">\[x' + θ'_x\]</div>""")
    assert block.startswith('<div class="formula"><math') and "</math></div>" in block
    assert "<msup>" not in block and "<msubsup>" not in block


def test_tests_of_the_papers_are_counted_on_the_site() -> None:
    text = (papers.FOLDER / "ecp14.md").read_text(encoding="utf-8")
    shown = papers.counted(text)
    rows = [line for line in shown.splitlines() if line.startswith("| ") and "::" in line]
    assert rows and all(line.endswith("</abbr> |") for line in rows)
    one = "| Definition 1 | `dx.solve` | the statement itself | `a/b.py::test_c`, `::test_d` |"
    assert papers.counted(one).endswith('| the statement itself | <abbr title="a/b.py::test_c, ::test_d">2</abbr> |')
