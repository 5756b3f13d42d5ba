"""Where in the source and in the SASS a kernel spends its time, and why it waits there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from kprof.model.finding import Place, Spot


@dataclass(frozen=True, slots=True)
class Heat:
    """What one instruction, or all instructions of one line, cost; None where not measured.

    Attributes:
        samples: warp samples taken there, of any state.
        stalls: samples by stall reason, of cycles in which the scheduler issued nothing where the
            report tells them apart.
        executed: executions per warp.
        active_threads: threads (of 32) that were active per execution, mean.
        excess_wavefronts: shared-memory wavefronts beyond the ideal.
        excess_sectors: 32-byte global sectors beyond the ideal.
        local_sectors: 32-byte sectors of local memory.
        divergent_branches: branches at which the threads of a warp parted.
    """

    samples: float | None = None
    stalls: Mapping[str, float] = field(default_factory=dict)
    executed: float | None = None
    active_threads: float | None = None
    excess_wavefronts: float | None = None
    excess_sectors: float | None = None
    local_sectors: float | None = None
    divergent_branches: float | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """The text of a source file.

    Attributes:
        file: its name as the compiler wrote it.
        origin: ``report`` for what ncu imported, else the path it was read from.
        text: all of it, with plain line feeds.
    """

    file: str
    origin: str
    text: str


@dataclass(frozen=True, slots=True)
class SourceLine:
    """All instructions of one source line.

    Attributes:
        file: as the compiler wrote it.
        line: 1-based.
        instructions: how many instructions with counters were compiled from it.
        heat: their sum.
    """

    file: str
    line: int
    instructions: int
    heat: Heat


@dataclass(frozen=True, slots=True)
class SassLine:
    """One instruction.

    Attributes:
        pc: byte offset from its function's start.
        function: position among the functions of the kernel, 0 unless code is called.
        sass: its text, empty where it was not read.
        file: source file, None without line information.
        line: 1-based source line, None without line information.
        heat: what it cost.
        chain: as :attr:`kprof.model.Place.chain`.
    """

    pc: int
    function: int
    sass: str
    file: str | None
    line: int | None
    heat: Heat
    chain: tuple[Spot, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceView:
    """A kernel's source lines and instructions, as many as matter.

    A report says of each instruction one file and one line. Of inlined code that is the line in
    the inlined function or one that calls it, as the compiler noted it; ``chain`` has them all.

    Attributes:
        lines: most relevant first.
        instructions: in the order of the code; none that has neither text nor line.
        lines_total: lines that have counters; more than in ``lines`` where the least were left out.
        instructions_total: the same for instructions.
        total: sum over all instructions, those left out included.
        unplaced: sum over the instructions without line information, None when every one has it.
        complete: whether ``instructions`` is the whole function, without gaps.
    """

    lines: tuple[SourceLine, ...] = ()
    instructions: tuple[SassLine, ...] = ()
    lines_total: int = 0
    instructions_total: int = 0
    total: Heat = field(default_factory=Heat)
    unplaced: Heat | None = None
    complete: bool = False


@dataclass(frozen=True, slots=True)
class StallReason:
    """One reason why warps did not issue.

    Attributes:
        reason: ncu's name, e.g. ``long_scoreboard``.
        amount: in the unit of the tree.
        share: of all stalls, 0..1.
        lines: where, strongest first; shares are of this reason's amount. None for a reason of
            less than 2 % of all stalls.
    """

    reason: str
    amount: float
    share: float
    lines: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class StallTree:
    """Everything warps did: issued or not, why not, and where.

    Attributes:
        form: ``sampled`` (amounts are warp samples) or ``counted`` (warps per issued instruction).
        total: all warps seen.
        issued: of cycles in which the scheduler issued some warp's instruction: a stall there
            costs no time. None where the report does not tell.
        not_issued: of cycles in which it issued nothing. None where the report does not tell.
        selected: the warp that issued: work, not a stall. None where the report does not tell.
        not_selected: warps that could have issued: a sign of enough warps, not a stall.
        reasons: the stalls, of cycles without an issue where the report tells, largest first.
        undersampled: True when there are too few samples to speak of shares, or, of a counted
            tree, of places.
    """

    form: Literal["sampled", "counted"]
    total: float
    issued: float | None = None
    not_issued: float | None = None
    selected: float | None = None
    not_selected: float | None = None
    reasons: tuple[StallReason, ...] = ()
    undersampled: bool = False
