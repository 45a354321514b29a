"""`contract_checks.ContractsComponent`: a folder of contracts as a component of a `dg` project."""

# Dagster reads the annotations of a component, so they are not postponed in this module.
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from dagster import (
    AssetCheckSpec,
    AssetSpec,
    Component,
    ComponentLoadContext,
    DefaultScheduleStatus,
    Definitions,
    EnvVar,
    ResolutionContext,
    Resolvable,
    Resolver,
    Scaffolder,
    ScaffoldRequest,
    scaffold_with,
)
from dagster.components.component_scaffolding import scaffold_component
from dagster.components.utils.translation import TranslationFn, TranslationFnResolver
from pydantic import BaseModel, Field

from contract_checks.checks import Settings
from contract_checks.dagster_defs.defs import OnBroken, build_definitions
from contract_checks.dagster_defs.partitions import ByCadence
from contract_checks.dagster_defs.resource import RESOURCE_KEY, ContractSources, ServerCredentials
from contract_checks.dagster_defs.translator import (
    Blocking,
    ContractCheckData,
    ContractDatasetData,
    ContractTranslator,
)

ON_BROKEN = "CONTRACT_CHECKS_ON_BROKEN"
"""The environment variable that decides what broken contracts become, where the attribute is not set."""

_EXAMPLE = """\
apiVersion: v3.1.0
kind: DataContract
id: example
name: Example
version: 1.0.0
# A draft never stops anything; make it active when all have agreed.
status: draft
schema:
  - name: example
    physicalName: example
    properties:
      - name: id
        logicalType: integer
        required: true
        unique: true
"""


@dataclass
class ServerAttributes(Resolvable):
    """Where a server of the contracts really is, and who asks it.

    Args:
        url: A SQLAlchemy URL without a password, or a folder or file of data.
        username_variable: The environment variable with the user.
        password_variable: The environment variable with the password. It is read when a run needs it, and is
            shown nowhere.
    """

    url: str | None = None
    username_variable: str | None = None
    password_variable: str | None = None

    def credentials(self) -> ServerCredentials:
        """The user and password, to be read from the environment when a run needs them."""
        names = (self.username_variable, self.password_variable)
        username, password = (cast("str", EnvVar(name)) if name else "" for name in names)
        return ServerCredentials(username=username, password=password)


class ContractsScaffoldParams(BaseModel):
    """What `dg scaffold defs contract_checks.ContractsComponent` takes."""

    contracts: str = Field(default="contracts", description="The folder of contracts; made if it is not there.")
    source: str | None = Field(default=None, description="A SQLAlchemy URL, or a folder or file of data.")


class ContractsScaffolder(Scaffolder[ContractsScaffoldParams]):
    """Writes a `defs.yaml` and, if there is no folder of contracts yet, one with an example."""

    @classmethod
    def get_scaffold_params(cls) -> type[ContractsScaffoldParams]:
        """The options of the command."""
        return ContractsScaffoldParams

    def scaffold(self, request: ScaffoldRequest[ContractsScaffoldParams]) -> None:
        """Write the files."""
        attributes = {"contracts": request.params.contracts}
        if request.params.source is not None:
            attributes["source"] = request.params.source
        scaffold_component(request, attributes)
        there = [base / request.params.contracts for base in (request.target_path, request.project_root) if base]
        if not any(folder.exists() for folder in there):
            folder = request.target_path / request.params.contracts
            folder.mkdir(parents=True)
            (folder / "example.odcs.yaml").write_text(_EXAMPLE, encoding="utf-8")


def _blocking(context: ResolutionContext, value: Any) -> Blocking:
    return cast("Blocking", value if isinstance(value, str) else tuple(value))


def _servers(context: ResolutionContext, value: Mapping[str, Any]) -> Mapping[str, ServerAttributes]:
    return {name: ServerAttributes.resolve_from_model(context.at_path(name), one) for name, one in value.items()}


@scaffold_with(ContractsScaffolder)
@dataclass
class ContractsComponent(Component, Resolvable):
    """A folder of data contracts as assets, checks, schedules and gates.

    Subclass it to change how contracts look: `get_asset_spec` and `get_check_spec` are those of a
    `ContractTranslator`.
    """

    contracts: Annotated[
        str,
        Resolver.default(
            description="A folder of contracts or one file, beside this file or below the project's folder."
        ),
    ] = "contracts"
    source: Annotated[
        str | None,
        Resolver.default(
            description="Where all the data is: a SQLAlchemy URL, or a folder or file of data. Without it the "
            "contracts' own servers are asked.",
            examples=["duckdb:///warehouse.duckdb", "{{ env.WAREHOUSE_URL }}"],
        ),
    ] = None
    server: Annotated[
        str | None, Resolver.default(description="Which of the contracts' servers to ask, by name or environment.")
    ] = None
    servers: Annotated[
        Mapping[str, ServerAttributes],
        Resolver(
            _servers,
            model_field_type=Mapping[str, ServerAttributes.model()],
            description="Where servers of the contracts are, and with which credentials, by their names.",
        ),
    ] = field(default_factory=dict)
    blocking: Annotated[
        Blocking,
        Resolver(
            _blocking,
            model_field_type=str | Sequence[str],
            description="Which failed checks stop what is downstream: `errors`, `none`, or a list of sections "
            "(schema, semantics, quality, sla).",
        ),
    ] = "errors"
    publish: Annotated[
        Literal["when_kept", "always"],
        Resolver.default(description="Whether broken data is recorded as materialized, too."),
    ] = "when_kept"
    schedules: Annotated[
        Literal["running", "stopped"], Resolver.default(description="Whether schedules run when they first appear.")
    ] = "stopped"
    partitions_from: Annotated[
        str | None,
        Resolver.default(
            description="A date: datasets with a partition column get partitions of their cadence from then on.",
            examples=["2026-01-01"],
        ),
    ] = None
    on_broken: Annotated[
        Literal["show", "raise"] | None,
        Resolver.default(
            description="What a contract that cannot be used becomes: `show` makes a red asset of it, `raise` an "
            "error that names its lines. Default: the environment variable CONTRACT_CHECKS_ON_BROKEN, else `show`."
        ),
    ] = None
    strict: Annotated[bool, Resolver.default(description="Whether unknown keys make a contract unusable.")] = False
    retries: Annotated[
        int, Resolver.default(description="How often a source that cannot be reached is asked again.")
    ] = 2
    statement_timeout: Annotated[
        int,
        Resolver.default(description="After how many seconds a database gives up on a statement; 0: never."),
    ] = 600
    proofs: Annotated[
        bool,
        Resolver.default(description="Whether what the source guarantees is not scanned for."),
    ] = True
    name: Annotated[
        str,
        Resolver.default(
            description="What the names of the job, the schedules and the ops begin with; each component of this "
            "type needs its own."
        ),
    ] = "contract"
    group_by: Annotated[
        Literal["column", "section"] | None,
        Resolver.default(
            description="For very wide tables: one check of Dagster for all rules of a `column`, or of a `section`."
        ),
    ] = None
    pool: Annotated[
        str | None,
        Resolver.default(description="Dagster's pool that every step takes a slot of, to limit how many run at once."),
    ] = None
    keep_measurements: Annotated[
        bool,
        Resolver.default(
            description="Whether what is measured of files is kept in the storage of the Dagster instance, so that a "
            "file that did not change is not read again."
        ),
    ] = False
    translation: Annotated[
        TranslationFn[ContractDatasetData] | None,
        TranslationFnResolver(
            template_vars_for_translation_fn=lambda data: {"contract": data.contract, "dataset": data.dataset}
        ),
    ] = None

    def get_asset_spec(self, data: ContractDatasetData) -> AssetSpec:
        """The asset of a dataset: the default one, as `translation` changes it."""
        spec = ContractTranslator().get_asset_spec(data)
        return self.translation(spec, data) if self.translation is not None else spec

    def get_check_spec(self, data: ContractCheckData) -> AssetCheckSpec:
        """The check of a promise."""
        return ContractTranslator().get_check_spec(data)

    def build_defs(self, context: ComponentLoadContext) -> Definitions:
        """The definitions of the folder. Raises `ContractError` for a broken contract if `on_broken` says so."""
        return build_definitions(
            _found(self.contracts, context),
            source=_source(self.source, context),
            server=self.server,
            translator=_Translator(self),
            blocking=self.blocking,
            publish=self.publish,
            default_schedule_status=DefaultScheduleStatus[self.schedules.upper()],
            resources={RESOURCE_KEY: self._sources(context)} if self.servers else None,
            on_broken=self._on_broken(),
            strict=self.strict,
            retries=self.retries,
            name=self.name,
            partitions=ByCadence(self.partitions_from) if self.partitions_from else None,
            group_by=self.group_by,
            pool=self.pool,
            keep_measurements=self.keep_measurements,
            settings=Settings(statement_timeout=self.statement_timeout, proofs=self.proofs),
        )

    def _on_broken(self) -> OnBroken:
        said = self.on_broken or os.environ.get(ON_BROKEN) or "show"
        if said not in ("show", "raise"):
            raise ValueError(f"{ON_BROKEN} is 'show' or 'raise', not '{said}'")
        return cast("OnBroken", said)

    def _sources(self, context: ComponentLoadContext) -> ContractSources:
        urls = {name: _source(one.url, context) or "" for name, one in self.servers.items() if one.url}
        credentials = {
            name: one.credentials()
            for name, one in self.servers.items()
            if one.username_variable or one.password_variable
        }
        return ContractSources(urls=urls, credentials=credentials)


class _Translator(ContractTranslator):
    """A component as the translator that it is."""

    def __init__(self, component: ContractsComponent) -> None:
        self.component = component

    def get_asset_spec(self, data: ContractDatasetData) -> AssetSpec:
        return self.component.get_asset_spec(data)

    def get_check_spec(self, data: ContractCheckData) -> AssetCheckSpec:
        return self.component.get_check_spec(data)


def _found(path: str, context: ComponentLoadContext) -> Path:
    """A path beside the component's file or below the project's folder; what is absolute stays as it is."""
    below = [context.path / path, context.project_root / path]
    found = next((one for one in below if one.exists()), None)
    if found is None:
        listed = " nor ".join(str(one) for one in dict.fromkeys(below))
        raise FileNotFoundError(f"there are no contracts: neither {listed} exists")
    return found


def _source(source: str | None, context: ComponentLoadContext) -> str | None:
    if source is None or "://" in source:
        return source
    return str(_found(source, context))
