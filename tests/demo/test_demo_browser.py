"""What a person sees of the running demo."""

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
        page = browser.new_page(viewport={"width": 1600, "height": 1000})
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
        """Open `path` and find every one of `texts` on it."""
        self.page.goto(f"{self.url}{path}")
        try:
            for text in texts:
                self.page.get_by_text(text, exact=False).locator("visible=true").first.wait_for()
        finally:
            self.page.screenshot(path=self.folder / f"{picture}.png")


def test_the_checks_tab_shows_the_verdict_in_words(see: See) -> None:
    """A failed check says what was measured and what was expected."""
    see(
        "/assets/weather?view=checks&checkDetail=schema__primary_key",
        "This is a blocking asset check",
        "3 ",
        "contracts/weather.odcs.yaml",
        picture="weather_primary_key",
    )


def test_a_warning_is_shown_as_one(see: See) -> None:
    """A failed check of severity warning does not block, and says so."""
    see(
        "/assets/flights?view=checks&checkDetail=quality__tailnum__registered",
        "This is a non-blocking asset check",
        "50,094",
        picture="flights_known_plane",
    )


def test_the_asset_shows_its_columns_owner_and_source(see: See) -> None:
    """The overview of an asset shows what the contract says of it."""
    see(
        "/assets/flights?view=overview",
        "One row per scheduled flight",
        "tailnum",
        "flight-operations",
        "flights.odcs.yaml",
        picture="flights_overview",
    )


def test_the_asset_behind_the_gate_was_not_materialized(see: See) -> None:
    """What depends on broken data was not computed, and its page says that the run failed."""
    see("/assets/rain_delays?view=overview", "Failed in", "No metadata found", picture="rain_delays_overview")
