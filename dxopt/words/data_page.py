"""Three sentences for the page on which data are offered: what is protected, how far off, what repeated use costs."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass

from dxopt.errors import required_choice

FORMS = ("markdown", "html")


@dataclass(frozen=True)
class DataPage:
    """Paragraphs for a data page.

    Attributes
    ----------
    protected, accuracy, repeated : str
        What is protected against whom, how far a report is off, and what repeated use costs.
    """

    protected: str
    accuracy: str
    repeated: str

    def written(self, form: str = "markdown") -> str:
        """Return the paragraphs as Markdown or HTML.

        Raises
        ------
        SpecError
            If the form is another one.
        """
        required_choice("form", form, FORMS)
        paragraphs: Mapping[str, str] = {
            "What is protected": self.protected,
            "How far off": self.accuracy,
            "Repeated use": self.repeated,
        }
        if form == "markdown":
            return "\n\n".join(f"**{title}.** {text}" for title, text in paragraphs.items())
        return "\n".join(
            f"<p><strong>{title}.</strong> {html.escape(text)}</p>" for title, text in paragraphs.items()
        )
