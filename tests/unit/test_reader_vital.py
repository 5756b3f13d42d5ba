from __future__ import annotations

from kprof.reader.vital import MOST, vital

WAITS = "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued"
SAMPLES = "smsp__pcsamp_sample_count"
SECTORS, IDEAL = (
    "memory_l2_theoretical_sectors_global",
    "memory_l2_theoretical_sectors_global_ideal",
)
LOCAL = "memory_l2_theoretical_sectors_local"
WHOLE = frozenset(range(0, 0x10000, 16))


def test_a_few_instructions_are_all_vital() -> None:
    assert vital([{0x10: {SAMPLES: 1.0}, 0x20: {SECTORS: 4.0, IDEAL: 4.0}}], WHOLE) == {0x10, 0x20}


def test_of_many_the_costly_ones_are() -> None:
    rows = {16 * at: {SAMPLES: float(at)} for at in range(200)}
    assert vital([rows], WHOLE) == {16 * at for at in range(152, 200)}


def test_an_access_that_wastes_is_costly_without_a_sample() -> None:
    rows: dict[int, dict[str, float]] = {16 * at: {SAMPLES: 1.0} for at in range(200)}
    rows[0x8000] = {SECTORS: 8.0, IDEAL: 4.0}
    ideal = {0x9000 + 16 * at: {SECTORS: 32.0, IDEAL: 32.0} for at in range(20)}
    found = vital([rows | ideal], WHOLE)
    assert 0x8000 in found
    assert len(found & set(ideal)) == 5  # shown as accesses, not as waste


def test_what_a_finding_shows_of_one_cost_is_vital_beside_hotter_instructions() -> None:
    rows: dict[int, dict[str, float]] = {16 * at: {SAMPLES: 1000.0} for at in range(200)}
    spills = {0x8000 + 16 * at: {LOCAL: 4.0} for at in range(300)}
    accesses = {0xA000 + 16 * at: {SECTORS: 4.0, IDEAL: 4.0} for at in range(300)}
    found = vital([rows | spills | accesses], WHOLE)
    assert found >= {0x8000 + 16 * at for at in range(5)}
    assert found >= {0xA000 + 16 * at for at in range(5)}
    assert len(found) <= MOST


def test_what_leads_up_to_the_hottest_waits_is_vital_too() -> None:
    found = vital([{0x8000: {SAMPLES: 9.0, WAITS: 9.0}}], WHOLE)
    assert found == set(range(0x8000 - 48 * 16, 0x8010, 16))
    assert vital([{0x20: {SAMPLES: 9.0, WAITS: 9.0}}], WHOLE) == {0x00, 0x10, 0x20}


def test_launches_of_one_function_count_together() -> None:
    launches = [{16 * at: {SAMPLES: 1.0} for at in range(100)} for _ in range(2)]
    launches[1] = {16 * at: {SAMPLES: 5.0} for at in range(60, 100)}
    assert vital(launches, WHOLE) >= {16 * at for at in range(60, 100)}
