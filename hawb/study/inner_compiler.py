"""A numba compiler for functions that only compiled functions call: up to LLVM's code and no further.

By itself numba optimises each function and turns it into machine code, together with all that it calls, before its
caller does the same again with a copy of it. Of hundreds of functions that call each other, most of that machine code
never runs. Here only the function that Python calls is optimised and turned into machine code, once, with all that it
calls inlined: that takes a quarter to half of the time, for code that is as fast.

numba also runs passes for features that these functions never use (closures, `with` blocks, loops to be unrolled,
arrays to be fused), each of which reads a whole function again, and it times each call of LLVM. Both are left out.

This uses parts of numba that its documentation does not cover: it ends at a compiler's pipeline. So it works with one
series of numba, which `pyproject.toml` names.
"""

from __future__ import annotations

from functools import cache
from graphlib import TopologicalSorter
from types import CodeType

from llvmlite.binding import ModuleRef, ffi
from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, StateDict
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.targetconfig import TargetConfig
from numba.core.typed_passes import AnnotateTypes, InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    WithLifting,
)

# numba builds a record's repr from its hundreds of fields at each use; a type never changes, so it is cached.
types.Record.__repr__ = cache(types.Record.__repr__)

# The hash of flags is that of their names, which the class fixes. What neither of two has set is equal in both.
TargetConfig.__hash__ = lambda flags: hash(type(flags))
TargetConfig.__eq__ = lambda flags, others: type(flags) is type(others) and (
    flags._values == others._values
    or all(getattr(flags, name) == getattr(others, name) for name in flags._values | others._values)
)

# numba times each call of LLVM for listeners; there are none here.
for callbacks in tuple(ffi.lib._lock._cblist):
    ffi.unregister_lock_callback(*callbacks)

NEVER_NEEDED = {
    WithLifting, InlineInlinables, FindLiterallyCalls, LiteralUnroll, LiteralPropagationSubPipelinePass,
    InlineOverloads, NopythonRewrites, AnnotateTypes,
}  # fmt: skip
FOR_CLOSURES = {InlineClosureLikes, MakeFunctionToJitFunction}
"""Passes that comprehensions need, too."""


class InnerLibrary(JITCodeLibrary):
    """A compiled function by itself; what it calls is linked when the function that Python calls links both."""

    def finalize(self) -> None:
        """Link, optimise and pass nothing to the engine that makes machine code: this function never runs by itself."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> ModuleRef:
        """Return a module with this function and all that it calls, each once.

        LLVM leaves out what nothing refers to yet, so a function is linked after all that call it.
        """
        order, seen, left = TopologicalSorter(), {self}, [self]
        while left:
            caller = left.pop()
            called = dict.fromkeys(caller._linking_libraries if isinstance(caller, InnerLibrary) else ())
            for library in called:
                order.add(library, caller)
            left += [library for library in called if library not in seen]
            seen |= called.keys()
        module = self._alone().clone()
        for library in tuple(order.static_order())[1:]:
            linked = library._alone() if isinstance(library, InnerLibrary) else library._get_module_for_linking()
            module.link_in(linked, preserve=True)
        return module

    def _alone(self) -> ModuleRef:
        """Return the module of this function without what it calls, as numba prepares it for being linked."""
        return super()._get_module_for_linking()


@register_pass(mutates_CFG=True, analysis_only=False)
class InnerLowering(NativeLowering):
    """Lower a function to LLVM's code, which compiled functions can call, and Python cannot."""

    _name = "inner_lowering"

    def run_pass(self, state: StateDict) -> bool:
        """Lower the function. A function without machine code represents it where numba looks up what to call."""
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        lowered = state.cr.fndesc
        stands_for = _dynfunc.make_function(
            lowered.lookup_module(), lowered.qualname, "", 0, state.cr.env, (state.library,)
        )  # fmt: skip
        state.targetctx.insert_user_function(stands_for, lowered, [state.library])
        state.cr = state.cr._replace(cfunc=stands_for)
        return True


class InnerCompiler(CompilerBase):
    """numba's own pipeline except for the last step."""

    def define_pipelines(self) -> list[PassManager]:
        """Return the one pipeline."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        has_closures = any(isinstance(one, CodeType) for one in self.state.func_id.code.co_consts)
        left_out = NEVER_NEEDED if has_closures else NEVER_NEEDED | FOR_CLOSURES
        # Each pass once: the passes that create dead branches are left out.
        needed = dict(each for each in passes.passes if each[0] not in left_out)
        passes.passes = [(InnerLowering if one is NativeLowering else one, why) for one, why in needed.items()]
        passes.finalize()
        return [passes]
