"""What a person sees of the running demo.

With `CONTRACT_CHECKS_PICTURES=docs/images` (`make pictures`) the pictures of the documentation are taken anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dagster_dev import DagsterDev, dagster_dev

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.slow]

CHROMIUM = Path("/usr/bin/chromium")
WIDTH, HEIGHT = 1300, 860
PICTURES = os.environ.get("CONTRACT_CHECKS_PICTURES")
SHOWN = {"checks", "gate", "overview", "run"}
"""The pictures that the documentation shows."""
REQUIRED = os.environ.get("CONTRACT_CHECKS_REQUIRE_BROWSER") == "1"


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    """A page of the system's Chromium."""
    if not REQUIRED:
        pytest.importorskip("playwright", reason="playwright is not installed")
        if not CHROMIUM.exists():
            pytest.skip(f"there is no Chromium at {CHROMIUM}; set CONTRACT_CHECKS_REQUIRE_BROWSER=1 to fail instead")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=str(CHROMIUM), args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.set_default_timeout(30_000)
        yield page
        browser.close()


@pytest.fixture(scope="module")
def demo(
    page: Page, checkout: Path, tmp_path_factory: pytest.TempPathFactory, environment: dict[str, str]
) -> Iterator[DagsterDev]:
    """The running demo after everything was materialized once."""
    with dagster_dev(checkout, tmp_path_factory.mktemp("dagster") / "home", environment) as running:
        assert running.materialize_everything() == "FAILURE"  # the gate closes on the weather
        yield running


@pytest.fixture
def see(page: Page, demo: DagsterDev, tmp_path_factory: pytest.TempPathFactory) -> See:
    """Open a path of the demo and wait for texts to be on the page; a screenshot of it is kept."""
    return See(page, demo.url, tmp_path_factory.getbasetemp())


class See:
    """Looks at pages of the demo."""

    def __init__(self, page: Page, url: str, folder: Path) -> None:
        self.page = page
        self.url = url
        self.folder = folder

    def __call__(self, path: str, *texts: str, picture: str) -> None:
        """Open `path` and find every one of `texts` on it; nothing makes the page wider than the window."""
        self.page.goto(f"{self.url}{path}")
        try:
            for text in texts:
                self.page.get_by_text(text, exact=False).locator("visible=true").first.wait_for()
        finally:
            self.page.screenshot(path=self.folder / f"{picture}.png")
        assert self.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        if PICTURES and picture in SHOWN:
            self.page.wait_for_timeout(3000)  # what moves comes to rest
            self.page.wait_for_function("!document.body.innerText.includes('Loading…')")
            self.page.screenshot(path=Path(PICTURES) / f"{picture}.png")


def test_a_failing_check_shows_its_verdict_in_words(see: See) -> None:
    """A failed check says what was measured and expected, which rows are to blame, and where the promise stands."""
    see(
        "/assets/weather?view=checks&checkDetail=schema__primary_key",
        "This is a blocking asset check",
        "3 recurring keys of (origin, year, month, day, hour), expected no duplicate keys.",
        "contracts/weather.odcs.yaml:37",
        "offenders",
        "EWR",
        picture="checks",
    )


def test_a_warning_is_shown_as_one(see: See) -> None:
    """A failed check of severity warning does not block, and shows its query and what it returned."""
    see(
        "/assets/flights?view=checks&checkDetail=quality__tailnum__registered",
        "This is a non-blocking asset check",
        "The query returned 50,094, expected = 0.",
        "planes.tailnum = flown.{property}",
        "Plots",
        picture="flights_registered",
    )


@pytest.mark.parametrize("check", ["schema__types", "quality__dest__known_airport", "quality__tailnum__faa_form"])
def test_wide_tables_and_long_queries_stay_on_the_page(see: See, check: str) -> None:
    """Whatever a check has to show, the button that runs it again is not pushed off the page."""
    see(f"/assets/flights?view=checks&checkDetail={check}", "Latest execution", picture=f"flights_{check}")
    buttons = see.page.get_by_text("Execute", exact=True).locator("visible=true")
    boxes = [box for one in buttons.all() if (box := one.bounding_box()) is not None]
    assert boxes
    assert all(box["x"] + box["width"] <= WIDTH for box in boxes)


def test_the_checks_tab_lists_every_promise(see: See, demo: DagsterDev) -> None:
    """The list of checks is complete, and no two names in it look alike where they are cut."""
    see("/assets/weather?view=checks", "Checks (40)", "schema__primary_key", picture="weather_checks")
    names = [
        one["name"]
        for one in demo.ask(
            'query { assetNodeOrError(assetKey: {path: ["weather"]}) { ... on AssetNode '
            "{ assetChecksOrError { ... on AssetChecks { checks { name } } } } } }"
        )["assetNodeOrError"]["assetChecksOrError"]["checks"]
    ]
    cut = [name if len(name) <= 28 else f"{name[:13]}…{name[-14:]}" for name in names]
    assert len(names) == 40
    assert len(set(cut)) == len(names)


def test_the_asset_shows_its_columns_owner_and_source(see: See) -> None:
    """The overview of an asset shows what the contract says of it, and how it was kept."""
    see(
        "/assets/flights?view=overview",
        "One row per scheduled flight",
        "336,776",
        "tailnum",
        "non-nullable",
        "flight-operations",
        "flights.odcs.yaml",
        picture="overview",
    )


def test_the_summary_is_not_cut(see: See) -> None:
    """On a window of 1440 pixels, all of the summary and of what is not checked is to be seen beside the sidebar."""
    see.page.set_viewport_size({"width": 1440, "height": HEIGHT})
    see("/assets/flights?view=overview", "contract/summary", "contract/not_checked", picture="flights_overview")
    see.page.get_by_text("contract/summary").first.scroll_into_view_if_needed()
    see.page.screenshot(path=see.folder / "flights_summary.png")
    sidebar = see.page.get_by_text("Definition", exact=True).first.bounding_box()
    boxes = [box for one in see.page.get_by_role("table").all() if (box := one.bounding_box()) is not None]
    see.page.set_viewport_size({"width": WIDTH, "height": HEIGHT})
    assert sidebar is not None
    assert len(boxes) > 2
    assert max(box["x"] + box["width"] for box in boxes) < sidebar["x"]


def test_the_catalogue_has_a_line_without_markdown(see: See) -> None:
    """The line below an asset's name is plain text that begins with what the asset is."""
    see("/assets", "One row per scheduled flight.", "Data contract for the orders table, defining", picture="catalogue")
    shown = see.page.inner_text("body")
    assert not any(mark in shown for mark in ("**", "`", "##"))


def test_the_run_names_the_broken_promises(see: See, demo: DagsterDev) -> None:
    """The log of the run has one line of what stopped it, with the number of each promise."""
    run = demo.ask("{ runsOrError(limit: 1) { ... on Runs { results { runId } } } }")["runsOrError"]["results"][0]
    see(
        f"/runs/{run['runId']}?logs=nothing%20downstream",
        "contracts/weather.odcs.yaml about 'weather': 2 blocking promises broken",
        "schema__wind_speed__maximum (1 value not",
        picture="run",
    )


def test_the_automation_page_lists_a_schedule_for_each_cadence(see: See) -> None:
    """Each cadence of the contracts is one schedule with a name that tells it, and its time in words."""
    see(
        "/automation",
        "contract_sla__every_1_d__0600_utc_minus_0500",
        "At 06:00 AM GMT-5",
        "contract_sla__every_1_h__0000_utc",
        "contract_sla__every_1_w__0000_utc",
        "contract_sla__every_1_mo__0000_utc",
        picture="automation",
    )


def test_the_lineage_shows_what_the_gate_holds_back(see: See) -> None:
    """What depends on broken data stands behind it in the graph, and neither was made."""
    see(
        "/assets/rain_delays?view=lineage&lineageScope=upstream",
        "37 / 40 Passed",
        "55 / 59 Passed",
        "rain_delays",
        "Failed",
        picture="gate",
    )


def test_the_asset_behind_the_gate_was_not_materialized(see: See) -> None:
    """What depends on broken data was not computed, and its page says that the run failed."""
    see("/assets/rain_delays?view=overview", "Failed in", "No metadata found", picture="rain_delays_overview")
