"""What a check of the doctor found."""

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal["ok", "warning", "fault", "skipped"]


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        check: its name.
        verdict: ``fault``: a number of this run cannot be trusted. ``warning``: the numbers are right, but the model or
            the data is probably not what was wanted. ``skipped``: the check could not be made.
        measured: None if the check could not be made. Infinite if what was compared is no number.
        limit: the largest value that is ok.
        explanation: one line.
    """

    check: str
    verdict: Verdict
    measured: float | None
    limit: float | None
    explanation: str

    def record(self) -> dict[str, Any]:
        """The finding for JSON, which has no infinity: such a measurement is null."""
        known = self.measured is not None and math.isfinite(self.measured)
        return {**asdict(self), "measured": self.measured if known else None}


def judged(
    check: str,
    measured: float,
    limit: float,
    *,
    ok: str,
    otherwise: str,
    verdict: Verdict = "fault",
) -> Finding:
    """The finding of a measurement that should not be over its limit.

    Args:
        check: its name.
        measured: the measurement; NaN is over every limit.
        limit: the largest value that is ok.
        ok: the explanation if it is.
        otherwise: the explanation if it is not.
        verdict: if it is not.
    """
    measured = math.inf if math.isnan(measured) else measured
    if measured <= limit:
        return Finding(check, "ok", measured, limit, ok)
    return Finding(check, verdict, measured, limit, otherwise)


def skipped(check: str, why: str) -> Finding:
    """The finding of a check that could not be made."""
    return Finding(check, "skipped", None, None, why)


def guarded(check: str, find: Callable[[], list[Finding]]) -> list[Finding]:
    """The findings of ``find``. If the model raises an error in it, that is a fault: a user's class may raise any."""
    try:
        return find()
    except Exception as error:
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return [Finding(check, "fault", None, None, f"the model raised {said[:200]}")]
