"""Accelerate: an `Accelerator` hands everything back prepared and runs the backward.

As documented: `backward(loss)` is `loss.backward()` (divided by the accumulation steps, scaled under mixed precision),
`prepare` wraps, and the losses that `gather` gives in a run of several processes have no graph.
"""

from __future__ import annotations

from gradpath.interpreter.machine import Machine
from gradpath.interpreter.values import Arguments, Value
from gradpath.overlays.frameworks import engines
from gradpath.overlays.namespace import Names
from gradpath.overlays.torch.optim import clip
from gradpath.support.words import words

_METHODS = {
    "prepare": engines.prepared,
    "prepare_model": engines.first,
    "prepare_optimizer": engines.first,
    "prepare_data_loader": engines.first,
    "prepare_scheduler": engines.first,
    "unwrap_model": engines.first,
    "skip_first_batches": engines.first,
    "backward": engines.backward,
    "clip_grad_norm_": clip,
    "clip_grad_value_": clip,
    "gather": engines.gathered,
    "gather_for_metrics": engines.gathered,
    "reduce": engines.gathered,
    "pad_across_processes": engines.gathered,
    **dict.fromkeys(
        ("accumulate", "no_sync", "autocast", "profile", "main_process_first", "local_main_process_first"),
        engines.block,
    ),
    **dict.fromkeys(
        words(
            """print log init_trackers end_training wait_for_everyone unscale_gradients save save_state load_state
            save_model register_for_checkpointing free_memory"""
        ),
        engines.nothing,
    ),
}


def _accelerator(machine: Machine, arguments: Arguments) -> Value:
    return engines.Helper("Accelerator", _METHODS)


NAMES: Names = {
    "accelerate.Accelerator": _accelerator,
    "accelerate.accelerator.Accelerator": _accelerator,
    "accelerate.utils.set_seed": engines.nothing,
    "accelerate.skip_first_batches": engines.first,
}

FOLLOWED = True
