from __future__ import annotations

import json
import sys

import pytest

from kprof.names import json_printable, printable, short

FILL = (
    "void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>, "
    "std::array<char *, (unsigned long)1>>(int, T2, T3)"
)


@pytest.mark.parametrize(
    ("demangled", "expected"),
    [
        ("vec_add(float const*, float*, int)", "vec_add"),
        ("void transpose<float, 32>(float const*, float*, int)", "transpose<float, 32>"),
        ("void (anonymous namespace)::scale<int>(int*)", "scale<int>"),
        ("<unnamed>::normalize_kernel(float *, const float *, int)", "normalize_kernel"),
        (FILL, "vectorized_elementwise_kernel<4, FillFunctor<float>, array<char *, 1>>"),
        ("void k<void f<int>()>(int)", "k<f<int>()>"),
        ("void matmul<int=32,bool=1>(float*)", "matmul<32,1>"),
        ("triton_red_fused_add_0", "triton_red_fused_add_0"),
        ("", ""),
        ("graph", "graph"),
    ],
)
def test_a_name_loses_what_does_not_tell_kernels_apart(demangled: str, expected: str) -> None:
    assert short(demangled, 200) == expected


def test_a_long_name_keeps_its_beginning_and_fits() -> None:
    assert short(FILL, 40) == "vectorized_elementwise_kernel<4, FillF…>"
    assert short("a" * 1433, 20) == "a" * 19 + "…"


@pytest.mark.parametrize("width", range(0, 80, 7))
def test_no_name_is_wider_than_asked(width: int) -> None:
    for name in (FILL, "a" * 1433, "k<" * 700, "f(" * 300, ")" * 50, "operator()(int)"):
        assert len(short(name, width)) <= max(width, 1)


def test_control_characters_cannot_reach_the_terminal() -> None:
    assert printable("a\x1b[31m\tb\x07é×") == "a?[31m?b?é×"


def test_json_shows_every_character_that_a_terminal_may_obey_as_its_number() -> None:
    surrogates = range(0xD800, 0xE000)
    every = "".join(chr(one) for one in range(sys.maxunicode + 1) if one not in surrogates)
    text = json_printable(json.dumps({every: 1}, ensure_ascii=False))
    assert text.isprintable()
    assert json.loads(text) == {every: 1}
    assert "\\u061c" in text
    assert json_printable('"é 日本 ×"') == '"é 日本 ×"'
