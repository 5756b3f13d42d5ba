"""What others get to read (page, JSON, annotations) tells who and where no more than --save does."""

from __future__ import annotations

import json

import pytest

from kprof import doctor_export, doctor_html
from kprof.audit import Facts, audit
from kprof.audit.redact import Redactor
from kprof.doctor_input import Snapshot
from kprof.doctor_result import document, result
from kprof.doctor_text import summary
from tests.audit.snapshots import A100, driver, machine

UUID = "GPU-6d1f9e32-3c1a-4b5d-9e8f-0a1b2c3d4e5f"
TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ3sT"
HOME, HOST = "/home/alice", "gpu07.hpc.example.edu"
ENVIRON = {"HOME": HOME, "USER": "alice", "HOSTNAME": HOST}
FACTS = machine(
    gpus=[{**A100, "uuid": UUID}],
    driver=driver("580.95.05", "13.0", dmesg=[f"{HOST} kernel: NVRM: Xid (PCI:0000:01:00): 79"]),
    env={
        **ENVIRON,
        "CUDA_VISIBLE_DEVICES": UUID.replace("6d1f", "7e2a"),
        "CUDA_INJECTION64_PATH": f"{HOME}/tools/{TOKEN}/libinject.so",
        "CUDA_HOME": f"{HOME}/cuda-12.4",
        "LD_LIBRARY_PATH": f"{HOME}/my lib/stubs",
    },
    libcuda={"path": f"{HOME}/my lib/stubs/libcuda.so", "kind": "stub", "version": None},
    python={"executable": f"{HOME}/v/bin/python", "version": "3.12.1"},
    torch={"version": "2.9.1+cpu", "cuda": None, "import_error": f"{HOME}/v/x.so on {HOST}"},
    ncu={"path": None},
)
PRIVATE = ("alice", "gpu07", "example.edu", TOKEN, UUID[4:12], "7e2a9e32", HOME)


def seen() -> Snapshot:
    redactor = Redactor.of(FACTS, ENVIRON, HOST)
    return Snapshot(Facts(FACTS), redactor.facts(FACTS), redactor.text)


@pytest.mark.parametrize(
    "render", [doctor_export.to_json, doctor_export.github, doctor_html.render]
)
def test_no_document_tells_what_the_snapshot_leaves_out(render) -> None:  # type: ignore[no-untyped-def]
    snapshot = seen()
    local = result(audit(snapshot.facts), snapshot.shareable)
    before = render(local).lower()
    assert [word for word in PRIVATE if word.lower() in before], "nothing to hide: proves nothing"
    after = render(document(audit(snapshot.facts), snapshot.shareable, snapshot.conceal)).lower()
    assert [word for word in PRIVATE if word.lower() in after] == []


def test_the_terminal_keeps_paths_that_work_here() -> None:
    snapshot = seen()
    text = summary(result(audit(snapshot.facts), snapshot.shareable), width=200, verbose=1)
    assert f"{HOME}/v/bin/python" in text


def test_a_document_finds_the_same() -> None:
    snapshot = seen()
    found = audit(snapshot.facts)
    local = result(found, snapshot.shareable)
    told = document(found, snapshot.shareable, snapshot.conceal)
    assert told.primary == local.primary
    assert [item.status for item in told.checks] == [item.status for item in local.checks]
    assert local.of("error")


def test_where_redaction_changes_a_verdict_the_first_one_counts_redacted() -> None:
    """The facts left out could be all that a check knew; its own words must not tell them."""
    snapshot = seen()
    found = audit(snapshot.facts)
    told = document(found, {}, snapshot.conceal)
    assert [item.status for item in told.checks] == [one.verdict.status for one in found.results]
    whole = doctor_export.to_json(told).lower()
    assert [word for word in PRIVATE if word.lower() in whole] == []
    assert told.of("error")


def test_a_file_is_shown_as_it_is() -> None:
    found = audit(Facts(FACTS))
    assert document(found, FACTS, None) == result(found)
    assert json.loads(doctor_export.to_json(document(found, FACTS, None)))["facts"] == FACTS
