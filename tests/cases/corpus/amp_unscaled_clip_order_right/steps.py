import torch


class NativeScaler:
    state_dict_key = "amp_scaler"

    def __init__(self, enabled):
        self._scaler = torch.amp.GradScaler("cpu", enabled=enabled)

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, update=True):
        self._scaler.scale(loss).backward()
        if not update:
            return None
        norm = None
        if clip_grad is not None:
            self._scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
        self._scaler.step(optimizer)
        self._scaler.update()
        return norm
