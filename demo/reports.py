"""What the demo computes from its tables: one report that runs, one that the gate holds back.

`weather` breaks promises that block, so `rain_delays` is not executed while it does; nothing in this file
knows of contracts.
"""

from __future__ import annotations

from typing import Any

import dagster as dg
import duckdb

from demo.build_warehouse import WAREHOUSE


def _report(sql: str) -> dg.MaterializeResult[Any]:
    with duckdb.connect(str(WAREHOUSE), read_only=True) as database:
        found = database.execute(sql)
        columns = [column[0] for column in found.description]
        rows = found.fetchall()
    records = [dg.TableRecord(dict(zip(columns, map(str, row), strict=True))) for row in rows[:12]]
    table = dg.MetadataValue.table(records)
    return dg.MaterializeResult(metadata={"dagster/row_count": len(rows), "first rows": table})


@dg.asset(deps=["flights", "airlines"], group_name="reports", kinds={"duckdb"})
def daily_delays() -> dg.MaterializeResult[Any]:
    """Average arrival delay of each airline and day."""
    return _report("""
        SELECT airlines.name AS airline, make_date(year, month, day) AS date,
               count(*) AS flights, round(avg(arr_delay), 1) AS minutes_late
        FROM flights JOIN airlines USING (carrier)
        GROUP BY ALL ORDER BY date, airline
    """)


@dg.asset(deps=["flights", "weather"], group_name="reports", kinds={"duckdb"})
def rain_delays() -> dg.MaterializeResult[Any]:
    """Average departure delay in dry and in wet hours, at each airport."""
    return _report("""
        SELECT origin, precip > 0 AS wet, count(*) AS flights, round(avg(dep_delay), 1) AS minutes_late
        FROM flights JOIN weather USING (origin, time_hour)
        GROUP BY ALL ORDER BY origin, wet
    """)
