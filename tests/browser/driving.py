"""What a reader does to a page, and what a page then shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import dxopt as dx
from dxopt.results.page.channels import Plane, readable


def opened(browser: Any, file: Path) -> None:
    browser.get("about:blank")
    browser.get(file.as_uri())


def themed(browser: Any, scheme: str) -> None:
    """What the system asks for: light or dark."""
    features = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def fresh(browser: Any, file: Path) -> Any:
    """The browser at a page, light and wide, as if for the first time."""
    sized(browser, 1200, 900)
    themed(browser, "light")
    opened(browser, file)
    browser.execute_script("localStorage.clear()")
    opened(browser, file)
    return browser


def sized(browser: Any, width: int, height: int, *, mobile: bool = False) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def find(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def every(browser: Any, selector: str) -> list[Any]:
    return browser.find_elements("css selector", selector)


def until(browser: Any, holds: Any) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(browser, 10, 0.05).until(holds)


def shown(browser: Any, number: int) -> Any:
    """The part of a result, opened by its link in the table, and drawn."""
    find(browser, f'a[href="#result-{number}"]').click()
    part = find(browser, f"#result-{number}")
    until(browser, lambda _: part.get_attribute("open") is not None)
    until(browser, lambda _: find(part, ".map").get_attribute("data-place") is not None)
    return part


def pointed(browser: Any, canvas: Any, across: float, down: float) -> None:
    """Move the pointer to a point of a canvas, as shares of its width and height."""
    from selenium.webdriver.common.action_chains import ActionChains

    browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", canvas)
    box = canvas.rect
    offset = (round((across - 0.5) * box["width"]), round((down - 0.5) * box["height"]))
    ActionChains(browser, duration=0).move_to_element_with_offset(canvas, *offset).perform()


def pressed(canvas: Any, *names: str) -> None:
    from selenium.webdriver.common.keys import Keys

    canvas.send_keys("".join(getattr(Keys, name) for name in names))


def state(figure: Any) -> tuple[str | None, int, int, float]:
    """What a map shows: its mode, the index pointed at, the most probable one, and how probable that is."""
    mode, index, top, most = (figure.get_attribute(f"data-{name}") for name in ("mode", "place", "top", "most"))
    return mode, int(index), int(top), float(most)


def painted(browser: Any, canvas: Any) -> str:
    return browser.execute_script("return arguments[0].toDataURL()", canvas)


def darkest(browser: Any, canvas: Any) -> int:
    """How many pixels have the colour of what is most probable, in light colours."""
    script = """
        const { data } = arguments[0].getContext("2d").getImageData(0, 0, arguments[0].width, arguments[0].height);
        let count = 0;
        for (let at = 0; at < data.length; at += 4) {
            count += [8, 29, 88].every((value, part) => data[at + part] === value);
        }
        return count;"""
    return browser.execute_script(script, canvas)


def named(report: dx.Report) -> list[str]:
    """What the page calls the secrets of a report."""
    space = report.mechanism.space
    return readable(space.labels, space.points, Plane.of(report))


def violations(browser: Any, axe: str) -> list[str]:
    """What axe-core finds wrong, as lines of a rule and the first element that breaks it."""
    browser.set_script_timeout(120)
    browser.execute_script(axe)
    found = browser.execute_async_script("const done = arguments[0]; axe.run(document).then((found) => done(found))")
    assert len(found["passes"]) > 20
    return [f"{one['id']}: {one['help']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]
