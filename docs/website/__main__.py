"""`python -m docs.website [--output site]`: builds the site and checks it; exit code 1 and a line for each fault."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path

os.environ.setdefault("NO_MKDOCS_2_WARNING", "1")

from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import Abort

from docs.website import api, checks
from docs.website.links import ROOT


def main() -> None:
    """Build the site, check it, and report what is wrong."""
    parser = argparse.ArgumentParser(prog="python -m docs.website", description="Builds the site and checks it.")
    parser.add_argument("--output", type=Path, default=ROOT / "site", help="where it goes; site by default")
    site = parser.parse_args().output.resolve()
    faults = [f"{name}: has no docstring" for name in api.undocumented()]
    if not faults:
        make(site)
        faults = list(checks.faults(site))
    for fault in faults:
        print(fault, file=sys.stderr)
    if faults:
        sys.exit(1)
    print(f"{site}/index.html: {len(list(site.rglob('*.html')))} pages")


def make(site: Path) -> None:
    """Build the site; SystemExit where a page has a link that leads nowhere, or a warning."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s: %(message)s")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(site))
    config.plugins.on_startup(command="build", dirty=False)
    try:
        build(config)
    except Abort as error:
        sys.exit(f"docs.website: {error}")
    finally:
        config.plugins.on_shutdown()


if __name__ == "__main__":
    main()
