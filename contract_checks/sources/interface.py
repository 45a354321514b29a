"""What a source is: a place that answers scans, all of one session from one snapshot."""

from __future__ import annotations
