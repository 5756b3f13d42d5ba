"""Reports made by hand: one kernel of every kind the page has to show, and hostile names."""

from __future__ import annotations

from dataclasses import replace

from kprof.model import (
    Caches,
    ClockHz,
    Collection,
    DeviceReport,
    Evidence,
    Finding,
    Flops,
    KernelReport,
    Launch,
    LeftOut,
    Levels,
    Limiter,
    Occupancy,
    Opinion,
    Origin,
    Place,
    QualityNote,
    Report,
    Roofline,
    SharedLine,
    SharedMemory,
    Skipped,
    Source,
    Speedup,
    Survey,
    Throughput,
    WhatIf,
)

SCRIPT_END = "</script><script>window.pwned = 1</script>"
LONG_NAME = (
    "void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, float, "
    + "thrust::pair<const unsigned long &, cub::KeyValuePair<int, float>>, " * 19
    + "float>>(int, T2, T3)"
)
CEILINGS = {
    "dram": 4.8e12,
    "l2": 1.15e13,
    "l1": 3.35e13,
    "fp64": 3.34e13,
    "fp32": 6.69e13,
    "fp16": 1.338e14,
    "tensor_fp64": 6.69e13,
    "tensor_tf32": 4.95e14,
    "tensor_bf16": 9.89e14,
    "tensor_fp16": 9.89e14,
    "tensor_fp8": 1.979e15,
    "tensor_int8": 1.979e15,
}
CLEAR = ("fp64-usage", "local-memory-traffic", "thread-divergence", "uncoalesced-global-access")

TRANSPOSE = KernelReport(
    index=0,
    name="transpose_tile32",
    demangled="transpose_tile32(const float *, float *, int, int)",
    device=0,
    workload="kernel",
    bound="shared",
    launch=Launch((256, 256, 1), (32, 8, 1), 32, 4096, 0, 1024, 7, 31.03, 0),
    nvtx=("transpose", "unpadded"),
    duration_s=412.6e-6,
    limiter=Limiter("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", "shared", 96.2),
    depth="standard",
    throughput=Throughput(None, None, 27.1, 31.8, 96.2),
    occupancy=Occupancy(100.0, 93.4, ("registers", "block_size")),
    caches=Caches(0.0, 49.8),
    stalls={"mio_throttle": 0.52, "short_scoreboard": 0.31, "long_scoreboard": 0.09, "barrier": 0.05, "wait": 0.03},
    pipes={"lsu": 38.2, "alu": 6.4, "fma": 2.1},
    shared_memory=SharedMemory(
        wavefronts=69_206_016.0,
        ideal=4_194_304.0,
        excess_pct=93.94,
        by_source=(
            SharedLine("/home/dev/samples/transpose.cu", 41, "LDS R7, [R4]", 0x230, 67_108_864.0, 2_097_152.0),
            SharedLine("/home/dev/samples/transpose.cu", 37, "STS [R5+0x400], R6", 0x1C0, 2_097_152.0, 2_097_152.0),
        ),
    ),
    roofline=Roofline(Flops(0.0, 0.0, 0.0), Levels(536_870_912.0, 1.07e9, 2.1e9), Levels(), 0.0),
    findings=(
        Finding(
            rule="shared-bank-conflicts",
            severity="high",
            confidence="high",
            headline="Shared-memory loads at transpose.cu:41 are 32-way bank conflicts: 94 % of all wavefronts are excess.",
            detail="The tile is read by columns: 32 threads of a warp address the same bank, so one load takes 32 passes where one would do. The L1 data stage is busy 96 % of the time with those passes.",
            estimated_speedup=Speedup(2.4, 3.6),
            resource="shared",
            evidence=(
                Evidence("memory_l1_wavefronts_shared", 69_206_016.0, "wavefront"),
                Evidence("excess share of shared wavefronts", 93.94, "%", 10.0, "kprof"),
                Evidence("l1tex__data_pipe_lsu_wavefronts.avg.pct_of_peak_sustained_elapsed", 96.2, "%", 40.0, "NVIDIA forum 115731"),
            ),
            refuted_by="a padded tile ([32][33]) that leaves the duration unchanged.",
            source=(
                Place("/home/dev/samples/transpose.cu", 41, "LDS R7, [R4]", 0x230, 0.969),
                Place("/home/dev/samples/transpose.cu", 37, "STS [R5+0x400], R6", 0x1C0, 0.031),
            ),
            advice=(
                "Pad the tile by one column: __shared__ float tile[32][33].",
                "Or swizzle the column index with the row (x ^ y), which needs no extra memory.",
            ),
        ),
        Finding(
            rule="occupancy-limited-by-registers",
            severity="low",
            confidence="low",
            headline="Occupancy is not what holds this kernel back; 32 registers per thread are fine.",
            detail="Achieved occupancy is 93 %.",
            estimated_speedup=None,
            resource="occupancy",
            evidence=(Evidence("launch__registers_per_thread", 32.0, "register"),),
            refuted_by="a change of occupancy that changes the duration.",
        ),
    ),
    clear=CLEAR,
    skipped=(Skipped("tensor-core-bound", ("tensor_ops",)),),
    opinions=(
        Opinion("SharedMemoryConflicts", "Shared Load Bank Conflicts", "The memory access pattern for shared loads might not be optimal and causes on average a 32.0-way bank conflict across all 2097152 shared load requests."),
    ),
)  # fmt: skip

VECTOR_ADD = KernelReport(
    index=1,
    name="vector_add",
    demangled="vector_add(const float *, const float *, float *, unsigned long)",
    device=0,
    workload="kernel",
    bound="dram",
    launch=Launch((262144, 1, 1), (256, 1, 1), 16, 0, 0, 1024, 7, 248.2, 0),
    origin=Origin("aten::add", "model.py", 88, ((8192, 8192), (8192, 8192))),
    duration_s=191.4e-6,
    limiter=Limiter("dram__throughput.avg.pct_of_peak_sustained_elapsed", "dram", 91.7),
    depth="standard",
    throughput=Throughput(17.3, 91.7, 91.7, 44.0, 24.9),
    occupancy=Occupancy(100.0, 84.1, ("block_size",)),
    caches=Caches(0.0, 33.4),
    stalls={"long_scoreboard": 0.94, "lg_throttle": 0.04, "wait": 0.02},
    pipes={"lsu": 12.1, "alu": 8.8, "fma": 3.4},
    roofline=Roofline(
        flops=Flops(0.0, 67_108_864.0, 0.0),
        bytes=Levels(8.05e8, 8.1e8, 8.2e8),
        intensity=Levels(0.0833, 0.0829, 0.0818),
        flops_per_s=3.506e11,
        roof_flops_per_s=4.0e11,
        roof_pct=87.7,
        roof="dram",
        ceilings={**CEILINGS, "dram": 4.81e12},
    ),
    findings=(
        Finding(
            rule="dram-bandwidth-bound",
            severity="medium",
            confidence="high",
            headline="DRAM runs at 91.7 % of its peak: only fewer bytes make this kernel faster.",
            detail="805 MB move in 191 µs. At the roof the kernel would take 176 µs.",
            estimated_speedup=Speedup(1.0, 1.09),
            resource="dram",
            evidence=(Evidence("dram__throughput.avg.pct_of_peak_sustained_elapsed", 91.7, "%", 60.0, "Nsight Compute, SOLBottleneck"), Evidence("dram__bytes.sum", 8.05e8, "byte")),
            refuted_by="a version that moves the same bytes in less time.",
            advice=("Fuse it with the kernel that produces or consumes its arrays.", "Store the arrays in half precision if the result allows."),
        ),
    ),
    clear=CLEAR,
)  # fmt: skip

LATENCY = KernelReport(
    index=2,
    name="depthwise_conv3x3_naive",
    demangled="void depthwise_conv3x3_naive<float, (int)3>(const T1 *, const T1 *, T1 *, int, int, int)",
    device=0,
    workload="kernel",
    bound="latency",
    launch=Launch((64, 64, 8), (16, 16, 1), 40, 0, 0, 1024, 7, 20.7, 0),
    duration_s=88.1e-6,
    limiter=Limiter("l1tex__lsuin_requests.avg.pct_of_peak_sustained_elapsed", "l1", 43.8),
    depth="standard",
    throughput=Throughput(38.0, 43.8, 21.4, 30.2, 43.8),
    occupancy=Occupancy(75.0, 61.7, ("registers",), (WhatIf("38 registers per thread", 7, 87.5),)),
    caches=Caches(78.2, 61.0),
    stalls={"long_scoreboard": 0.61, "wait": 0.17, "not_selected": 0.1, "branch_resolving": 0.12},
    pipes={"lsu": 43.1, "fma": 22.4, "alu": 31.5},
    roofline=Roofline(
        flops=Flops(0.0, 6.04e8, 0.0),
        bytes=Levels(9.1e7, 3.2e8, 1.3e9),
        intensity=Levels(6.64, 1.89, 0.465),
        flops_per_s=6.86e12,
        roof_flops_per_s=3.19e13,
        roof_pct=21.5,
        roof="dram",
    ),
    findings=(
        Finding(
            rule="memory-latency-bound",
            severity="high",
            confidence="medium",
            headline="Warps wait for global memory 61 % of the time and no unit is busy.",
            detail="There are too few bytes in flight to cover the memory's latency.",
            estimated_speedup=Speedup(1.2, 1.9),
            resource="latency",
            evidence=(Evidence("stall long_scoreboard", 61.0, "%", 30.0, "Nsight Compute, CPIStall"),),
            refuted_by="more loads in flight that leave the duration unchanged.",
            advice=("Load the halo once into shared memory.", "Let one thread compute four outputs."),
        ),
    ),
    clear=CLEAR,
    quality=(QualityNote("clocks", "The SM clock while profiling was 62 % of its maximum: arithmetic roofs are lower than in production."),),
)  # fmt: skip

GEMM = KernelReport(
    index=3,
    name=LONG_NAME[:1400],
    demangled=LONG_NAME,
    device=0,
    workload="kernel",
    bound="tensor",
    launch=Launch((132, 1, 1), (384, 1, 1), 168, 0, 213_000, 1024, 7, 1.0, 2),
    nvtx=(SCRIPT_END, "a & b <c>"),
    duration_s=231.9e-6,
    limiter=Limiter(
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed", "tensor", 81.3
    ),
    launches=3,
    throughput=Throughput(81.3, 58.2, 31.0, 49.0, 58.2),
    occupancy=Occupancy(18.75, 18.4, ("shared_memory", "registers")),
    roofline=Roofline(
        flops=Flops(0.0, 1.1e8, 0.0, {"bf16": 1.37e11}),
        bytes=Levels(2.0e8, 6.1e8, None),
        intensity=Levels(686.0, 225.0, None),
        flops_per_s=5.93e14,
        roof_flops_per_s=9.89e14,
        roof_pct=59.9,
        roof="tensor_bf16",
    ),
    clear=CLEAR[:2],
    skipped=(Skipped("shared-bank-conflicts", ("shared_wavefronts", "shared_wavefronts_ideal")),),
)

UNKNOWN = KernelReport(
    index=4,
    name="<lambda()#1>::operator()&&",
    demangled="<lambda()#1>::operator()&&(T1 const&) const",
    device=0,
    workload="kernel",
    bound="unknown",
    skipped=(Skipped("dram-bandwidth-bound", ("dram_pct",)), Skipped("issue-bound", ())),
)

REPORT = Report(
    source=Source(
        "samples/h200.ncu-rep", "9f" * 32, "2025.3.1.0", False, ("python", "samples.py", "--n", "8192"), 0
    ),
    collection=Collection(9, "standard", "kernel", "none", "all"),
    devices=(DeviceReport("NVIDIA H200", "9.0", 132, ClockHz(1.98e9, 3.2e9), CEILINGS),),
    kernels=(TRANSPOSE, VECTOR_ADD, LATENCY, GEMM, UNKNOWN),
)  # fmt: skip

BARE = Report(
    source=Source("old.nsight-cuprof-report", "00" * 32, truncated=True, target_exit=139),
    collection=Collection(),
    devices=(DeviceReport("Tesla T4", None, None),),
    kernels=(UNKNOWN,),
    notes=("This is the recorded demo, replayed: no GPU was used on this machine.",),
)


# One kernel whose L2 traffic was not measured, beside one where every level was.
PARTIAL = replace(
    REPORT,
    kernels=(
        LATENCY,
        replace(VECTOR_ADD, roofline=Roofline(Flops(0.0, 6.7e7, 0.0), Levels(8.05e8), Levels(0.0833), 3.5e11)),
    ),
)  # fmt: skip


def timed(
    index: int, name: str, launches: int, total_s: float, why: LeftOut | None
) -> KernelReport:
    """A kernel of a survey that was not measured in depth."""
    return KernelReport(
        index, name, f"void {name}(float *)", 0, "kernel", "unknown", Launch((64, 1, 1), (128, 1, 1)),
        duration_s=total_s / launches * 0.9, launches=launches, total_s=total_s, depth="survey",
        left_out=why,
    )  # fmt: skip


# A whole program: two kernels measured in depth, and one left out for every reason.
WHOLE = replace(
    REPORT,
    collection=replace(REPORT.collection, survey=Survey(1831, 6, 40.5e-3, 2, 0.8125, 600, 8.5e-3)),
    kernels=(
        replace(TRANSPOSE, launches=40, total_s=16e-3),
        replace(VECTOR_ADD, launches=60, total_s=10e-3),
        timed(2, "tried_matmul", 600, 8.5e-3, "autotuning"),
        timed(3, "gone_softmax", 30, 5e-3, "missing"),
        timed(4, "small_scale", 1100, 0.9e-3, "coverage"),
        timed(5, "small_copy", 1, 0.1e-3, "coverage"),
    ),
)


def surveyed(kernels: int) -> Report:
    """A whole program of that many kernels beside those in depth, none of them chosen."""
    rest = (timed(10 + i, f"tiny_{i}", 2, 1e-6, "coverage") for i in range(kernels))
    return replace(WHOLE, kernels=(*WHOLE.kernels[:2], *rest))


def many(kernels: int, distinct: int) -> Report:
    """A report of this many launches of so many different kernels."""
    base = REPORT.kernels
    launches = tuple(
        replace(
            base[i % distinct % len(base)],
            index=i,
            demangled=f"{base[i % distinct % len(base)].demangled[:1390]}#{i % distinct}",
            name=f"kernel_{i % distinct}",
        )
        for i in range(kernels)
    )
    return replace(REPORT, kernels=launches)
