"""The demo: its warehouse, and the reports computed from it."""
