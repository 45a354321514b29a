"""Machine-learning models: a table of predictions, the model's own signature, and functions that measure it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from builders import result
from databases import Put

from contract_checks.checks import Settings, plan
from contract_checks.dialects import load
from contract_checks.dialects.mlflow import UnreadableSignatureError, read_signature
from contract_checks.dialects.openmetadata_streams import read_rate
from contract_checks.functions import MetricRequest
from contract_checks.metrics import Rate, Threshold
from contract_checks.results import Report
from contract_checks.run import check_contract

CHURN = Path(__file__).parent / "examples" / "valid" / "openmetadata_proposal" / "churn_prediction_model.yaml"
NAME = "churn_prediction_model_v2"

PREDICTIONS = """
SELECT (i % 60)::INT AS tenure_months, (i % 20)::INT AS avg_monthly_sessions, (i % 4)::INT AS support_tickets_last_3m,
       i % 3 = 0 AS is_premium_member, (i % 100 / 100.0)::DOUBLE AS churn_probability, i % 5 = 0 AS churn_prediction
FROM range(200) t(i)
"""


def auc(request: MetricRequest) -> float:
    """A measure of the real predictions, in the snapshot of the other checks."""
    (row,) = request.query(f"SELECT avg(churn_probability) FROM {request.table}")
    return 0.85 if row[0] is not None else 0


def churn(source: Any, **arguments: Any) -> Report:
    return check_contract(CHURN, source=source, **arguments)


@pytest.mark.parametrize("table", [NAME, "model_predictions"])
@pytest.mark.parametrize("place", ["duckdb", "parquet"])
def test_the_model_of_the_proposal_keeps_every_promise(place: str, table: str, put: Put) -> None:
    """inputs and outputs are columns of the table of predictions, by the model's name or the one its query reads."""
    source = put(place, PREDICTIONS, table)
    report = churn(source, metrics={"AUC": auc})
    query = result(report, "sql")
    if place == "duckdb" and table == NAME:  # the query names a table that this database does not have
        assert query.status == "errored"
    statuses = {one.status for one in report.results if one is not query}
    assert statuses == {"passed"}, [one.description for one in report.results]
    assert result(report, "AUC").description == "AUC on validation dataset is 0.85, expected ≥ 0.80."
    assert query.measured == pytest.approx(0.2) or query.status == "errored"


BROKEN = {
    "a negative month": ("-1 AS tenure_months", {"schema__tenure_months__not_negative"}),
    "no sessions": ("NULL::INT AS avg_monthly_sessions", {"schema__avg_monthly_sessions__required"}),
    "tickets as text": (
        "'3' AS support_tickets_last_3m",
        {"schema__types", "schema__support_tickets_last_3m__not_negative"},
    ),
    "too likely": (
        "1.5::DOUBLE AS churn_probability",
        {"schema__churn_probability__max_value", "quality__churn_probability__probability_range"},
    ),
    "all churn": ("TRUE AS churn_prediction", {"quality__max_predicted_churn_rate"}),
    "no prediction": (
        "NULL::BOOL AS churn_prediction",
        {"schema__churn_prediction__required"},
    ),
}


@pytest.mark.parametrize("defect", BROKEN)
def test_each_broken_promise_fails_its_check(defect: str, put: Put) -> None:
    """predictions that break a promise fail the check of this promise."""
    column, expected = BROKEN[defect]
    rows = f"SELECT * REPLACE ({column}) FROM ({PREDICTIONS})"
    report = churn(put("duckdb", rows, "model_predictions"), metrics={"AUC": auc})
    assert {one.check.name for one in report.results if one.status != "passed"} == expected


def test_without_the_function_the_promise_is_not_checked() -> None:
    """a contract names a function and can never make one run that was not registered."""
    (dataset,) = plan(load(CHURN)).datasets
    assert "Minimum Model AUC" in dataset.not_checked[0].reason
    assert "no function is registered that measures 'AUC'" in dataset.not_checked[0].reason
    assert not [one for one in dataset.checks if one.rule == "AUC"]
    assert {one.location.path for one in dataset.not_checked} == {
        "$.quality[1]", "$.sla.predictionLatency", "$.sla.retrainingFrequency", "$.sla.availability",
    }  # fmt: skip
    (registered,) = plan(load(CHURN), Settings(metrics=frozenset({"AUC"}))).datasets
    assert [one.expected for one in registered.checks if one.rule == "AUC"] == ["≥ 0.80"]


def broken(request: MetricRequest) -> float:
    raise RuntimeError("no model")


@pytest.mark.parametrize(
    ("function", "status", "words"),
    [
        (lambda request: 0.79, "failed", "is 0.79"),
        (lambda request: Decimal("0.80"), "passed", "is 0.80"),
        (lambda request: 1, "passed", "is 1"),
        (lambda request: float("nan"), "errored", "returned nan, which is no number"),
        (lambda request: None, "errored", "returned None, which is no number"),
        (lambda request: True, "errored", "returned True, which is no number"),
        (lambda request: request.query("SELECT nonsense"), "errored", "nonsense"),
        (broken, "errored", "failed: RuntimeError: no model"),
    ],
)
def test_a_function_measures_or_the_check_is_errored(function: Any, status: str, words: str, put: Put) -> None:
    """a number is compared; whatever else comes back, or is raised, is no verdict."""
    report = churn(put("duckdb", PREDICTIONS, "model_predictions"), metrics={"AUC": function})
    assert result(report, "AUC").status == status
    assert words in result(report, "AUC").description
    assert {one.status for one in report.results if one.check.rule != "AUC"} == {"passed"}


# --------------------------------------------------------------------------- signatures

INPUTS = [
    {"name": "tenure_months", "type": "long", "required": True},
    {"name": "avg_monthly_sessions", "type": "integer", "required": True},
    {"name": "support_tickets_last_3m", "type": "long", "required": True},
    {"name": "is_premium_member", "type": "boolean", "required": True},
]
OUTPUTS = [{"name": "churn_probability", "type": "double"}, {"name": "churn_prediction", "type": "boolean"}]


def mlmodel(folder: Path, inputs: Any = INPUTS, outputs: Any = OUTPUTS) -> Path:
    """An `MLmodel` file as MLflow writes it."""
    folder.mkdir(exist_ok=True)
    lines = [
        "flavors:",
        "  python_function:",
        "    loader_module: mlflow.sklearn",
        "mlflow_version: 2.9.2",
        "signature:",
    ]
    lines += [f"  inputs: '{json.dumps(inputs)}'", f"  outputs: '{json.dumps(outputs)}'", "  params: null"]
    (folder / "MLmodel").write_text("\n".join(lines))
    return folder


def signature(put: Put, path: Path | str) -> Any:
    settings = Settings(signatures={(NAME, NAME): str(path)})
    return result(churn(put("parquet", PREDICTIONS, "model_predictions"), settings=settings), "signature")


def test_a_model_with_the_promised_signature(put: Put, tmp_path: Path) -> None:
    """a model whose file says what the contract promises keeps it; an optional input more does not matter."""
    one = signature(put, mlmodel(tmp_path / "m", [*INPUTS, {"name": "hint", "type": "string", "required": False}]))
    assert (one.status, one.description) == ("passed", "The model has the promised 4 inputs and 2 outputs.")
    unnamed = [{"type": "double"}, {"type": "boolean"}]
    assert signature(put, mlmodel(tmp_path / "m", outputs=unnamed) / "MLmodel").status == "passed"


def changed(place: int, **changes: Any) -> list[Mapping[str, Any]]:
    return [{**one, **changes} if index == place else one for index, one in enumerate(INPUTS)]


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        (changed(0, type="string"), OUTPUTS, "tenure_months: expected input integer, found input string"),
        (INPUTS[1:], OUTPUTS, "tenure_months: expected input integer, found missing"),
        ([*INPUTS, {"name": "age", "type": "long"}], OUTPUTS, "age: expected no such input, found input long"),
        (INPUTS, OUTPUTS[:1], "churn_prediction: expected output boolean, found missing"),
    ],
)
def test_a_model_of_another_signature_breaks_the_promise(
    inputs: Any, outputs: Any, words: str, put: Put, tmp_path: Path
) -> None:
    """a type, an input or output that is not there, and an input that the model needs beyond the promised ones."""
    one = signature(put, mlmodel(tmp_path / "m", inputs, outputs))
    assert (one.status, one.measured) == ("failed", 1)
    assert words in one.description


def test_a_signature_nobody_can_compare_is_errored(put: Put, tmp_path: Path) -> None:
    """no file, no signature, or one of a matrix of another width is no verdict."""
    assert "there is no MLmodel file" in signature(put, tmp_path / "none").description
    tensor = [{"type": "tensor", "tensor-spec": {"dtype": "float64", "shape": [-1, 1]}}]
    one = signature(put, mlmodel(tmp_path / "m", outputs=tensor))
    assert (one.status, "unnamed" in one.description) == ("errored", True)


@pytest.mark.parametrize("text", ["a: 1", "signature: {inputs: 'x'}", "signature: {inputs: '{}'}", "- 1", "a: [", ""])
def test_a_file_without_a_signature_is_told(text: str, tmp_path: Path) -> None:
    """whatever stands where a signature should be, the reason is a sentence."""
    (tmp_path / "MLmodel").write_text(text)
    with pytest.raises(UnreadableSignatureError):
        read_signature(tmp_path)


# --------------------------------------------------------------------------- dates that lie in the future

FUTURE = """
apiVersion: v1
kind: DataContract
name: t
schema:
  columns:
    - {name: a, type: TYPE, constraints: {no_future_dates: true}}
"""
NOON = datetime(2024, 6, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("place", ["duckdb", "parquet", "csv", "sqlite", "postgres"])
@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("TIMESTAMP", ("2024-06-01 12:00:00", "2024-06-01 12:00:01", None)),
        ("DATE", ("2024-06-01", "2024-06-02", None)),
    ],
)
@pytest.mark.service
def test_no_future_dates_is_about_the_moment_of_the_run(
    place: str, kind: str, values: tuple[str | None, ...], put: Put, tmp_path: Path
) -> None:
    """a value after the run is counted, one at that moment or of that day is not, and NULL never."""
    file = tmp_path / "t.yaml"
    file.write_text(FUTURE.replace("TYPE", kind))
    rows = " UNION ALL ".join(f"SELECT {'NULL' if one is None else repr(one)}::{kind} AS a" for one in values)
    source = put(place, rows)
    one = result(check_contract(file, source=source, now=NOON), "no_future_dates", "a")
    assert (one.status, one.measured) == ("failed", 1), one.description
    later = result(check_contract(file, source=source, now=NOON + timedelta(days=2)), "no_future_dates", "a")
    assert (later.status, later.check) == ("passed", one.check)


def test_no_future_dates_needs_dates(put: Put, tmp_path: Path) -> None:
    """a column of numbers is not in the future nor in the past: that is not evaluated."""
    file = tmp_path / "t.yaml"
    file.write_text(FUTURE.replace("TYPE", "TIMESTAMP"))
    one = result(check_contract(file, source=put("duckdb", "SELECT 1 AS a")), "no_future_dates", "a")
    assert (one.status, "needs dates or timestamps" in one.description) == ("errored", True)


# --------------------------------------------------------------------------- rates in words


@pytest.mark.parametrize(
    ("text", "per", "operator", "count"),
    [
        (">= 500 events/minute", "minute", "mustBeGreaterOrEqualTo", 500),
        ("500 msgs/s", "second", "mustBeGreaterOrEqualTo", 500),
        ("at least 1,000 messages per hour", "hour", "mustBeGreaterOrEqualTo", 1000),
        ("at most 2.5k records/day", "day", "mustBeLessOrEqualTo", 2500),
        ("< 10/sec", "second", "mustBeLessThan", 10),
    ],
)
def test_a_rate_is_read(text: str, per: Any, operator: Any, count: int) -> None:
    """a number of messages in a unit of time; without an operator it is the least there must be."""
    read = read_rate(text)
    assert read is not None
    assert (read.metric, read.threshold) == (Rate(per), Threshold(operator, count))


@pytest.mark.parametrize("text", ["fast", "500", "500 MB/s", "5 events/week", "5 events per quarter", "-5/s", ""])
def test_what_is_no_rate_is_not_guessed(text: str) -> None:
    """bytes, units without a rate, and sentences are not understood."""
    assert read_rate(text) is None
