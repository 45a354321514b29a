"""`python -m contract_checks` is `contract-checks`."""

from contract_checks.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
