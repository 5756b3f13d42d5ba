"""How a report was collected, in one line: what is recorded, and what is not."""

from __future__ import annotations

from kprof.model import Collection, Report, Survey

_DEPTHS = {"sections": "collected with ncu's sections", "survey": "durations only"}
# What a measurement means when ncu does not replay one kernel at a time.
REPLAYS = {
    "application": "the program run again for every pass",
    "range": "each range replayed and measured as a whole",
    "app-range": "the program run again for every pass, each range measured as a whole",
}
_CLOCKS = {"none": "clocks not locked", "base": "clocks locked to base"}
_CACHES = {"all": "caches flushed before each pass", "none": "caches kept warm"}
_OWN_CACHES = {**_CACHES, "none": "caches as the program leaves them"}  # nothing is replayed


def collected(report: Report) -> str:
    """Say with what, how deep and under which conditions the kernels were measured."""
    how = report.collection
    facts = [
        f"ncu {report.source.ncu_version or 'version unknown'}",
        how.survey and how.depth != "survey" and timed_first(how.survey),
        how.depth and _DEPTHS.get(how.depth, f"depth {how.depth}"),
        how.passes and f"{how.passes} pass{'es' if how.passes != 1 else ''}",
        how.replay_mode and REPLAYS.get(how.replay_mode),
        *_conditions(how),
    ]
    return ", ".join(fact for fact in facts if fact)


def timed_first(survey: Survey) -> str:
    """Say how every launch was timed before some were measured in depth."""
    way = "as the program runs alone" if survey.timed_by == "cupti" else "one by one"
    return f"every launch timed first, {way}"


def _conditions(how: Collection) -> list[str]:
    own = how.replay_mode in ("application", "app-range")
    caches = _OWN_CACHES if own else _CACHES
    settings = (("clock", how.clock_control, _CLOCKS), ("cache", how.cache_control, caches))
    known = [
        words.get(value, f"{name} control {value}") for name, value, words in settings if value
    ]
    missing = " and ".join(name for name, value, _ in settings if not value)
    return [*known, f"{missing} control not recorded"] if missing else known
