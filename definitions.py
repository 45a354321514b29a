"""The demo: every contract in `contracts/` as an asset, and two reports that are computed from them."""

import dagster as dg

from contract_checks import build_definitions
from demo import reports
from demo.build_warehouse import CHECKOUT, WAREHOUSE, ensure

ensure(WAREHOUSE)

defs = dg.Definitions.merge(
    build_definitions(CHECKOUT / "contracts", source=f"duckdb:///{WAREHOUSE}", executor=dg.in_process_executor),
    dg.Definitions(assets=dg.load_assets_from_modules([reports])),
)
