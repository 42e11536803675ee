"""Compiled functions that only compiled functions call.

numba makes machine code of every function by itself, optimised with all that it calls, and does
so again for its callers, who need nothing of that. An inner function is only translated; each
function that Python calls is optimised once, with everything below it. That halves the time to
compile. Inner functions are not cached by themselves, they are part of what is.
"""

# mypy: disable-error-code="no-untyped-call"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NativeLowering


class _Part(JITCodeLibrary):
    """Code to be linked into others, which optimise it."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Translate(NativeLowering):
    """Lowering without machine code."""

    _name = "kanopy_translate"

    def run_pass(self, state: Any) -> bool:
        context = state.targetctx
        name = state.func_id.func_qualname
        state.library = _Part(context.codegen(), name)
        state.flags.no_compile = True
        super().run_pass(state)

        # The dispatcher wants a built-in function; this one raises a KeyError with its text.
        entry = f"{{only compiled functions may call {name}}}".format
        context.insert_user_function(entry, state.cr.fndesc, [state.library])
        state.cr = state.cr._replace(cfunc=entry)
        return True


class _InnerCompiler(CompilerBase):
    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_Translate, text) if step is NativeLowering else (step, text)
            for step, text in passes.passes
        ]
        passes.finalize()
        return [passes]


INNER: dict[str, Any] = {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": _InnerCompiler,
}


KERNEL: dict[str, Any] = {"cache": True, "nogil": True, "no_cfunc_wrapper": True}


def inner(function: Callable[..., Any]) -> Any:
    """Compile a function for other compiled functions alone."""
    return njit(**INNER)(function)


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a function, or an inner one once more, for Python; other kernels do not call it."""
    plain = getattr(function, "py_func", function)
    return njit(**KERNEL)(plain)
