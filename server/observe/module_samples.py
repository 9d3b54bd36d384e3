"""Modules to watch: constructor's arguments, an arrow, the call's arguments; several separated by bars."""

from __future__ import annotations

from collections.abc import Mapping

_SWITCH = "ReLU ReLU6 LeakyReLU ELU SELU CELU Hardtanh Hardswish Hardsigmoid SiLU Mish"

MODULES: Mapping[str, str] = {
    **{name: "-> s | inplace=True -> s" for name in _SWITCH.split()},
    "Threshold": ".1, 0. -> s | .1, 0., True -> s",
    "RReLU": "-> s | inplace=True -> s",
    "PReLU": "-> s | 2 -> img",
    "Dropout": "-> x | 0 -> x | 0.0 -> x | 1.0 -> x | .1, True -> x | 0.0, True -> x",
    "Dropout1d": "-> seq | 0.0 -> seq | .1, True -> seq",
    "Dropout2d": "-> img | 0.0 -> img | .1, True -> img",
    "Dropout3d": "-> vol | 0.0 -> vol | .1, True -> vol",
    "AlphaDropout": "-> x | 0.0 -> x | .1, True -> x",
    "FeatureAlphaDropout": "-> img | 0.0 -> img | .1, True -> img",
    "Linear": "4, 2 -> x | 4, 2 -> b3b | 4, 2 -> b3b.transpose(0, 1) | 4, 2, False -> b3b.transpose(0, 1) | 4, 2, False -> x | 4, 2 -> img",
    "LazyLinear": "2 -> x | 2, False -> x",
    "Bilinear": "4, 4, 2 -> x, y | 4, 4, 2, False -> x, y",
    "Identity": "-> x | 4, 5 -> x",
    "Conv1d": "2, 3, 2 -> seq | 2, 3, 2, bias=False -> seq | 2, 3, 3, padding=1, padding_mode='circular' -> seq",
    "Conv2d": "2, 3, 2 -> img | 2, 3, 2, bias=False -> img | 2, 3, 3, padding=1, padding_mode='reflect' -> img | 2, 2, 3, groups=2 -> img",
    "Conv3d": "2, 3, 2 -> vol | 2, 3, 2, bias=False -> vol",
    "ConvTranspose1d": "2, 3, 2 -> seq | 2, 3, 2, bias=False -> seq",
    "ConvTranspose2d": "2, 3, 2 -> img | 2, 3, 2, bias=False -> img",
    "ConvTranspose3d": "2, 3, 2 -> vol | 2, 3, 2, bias=False -> vol",
    **{
        f"BatchNorm{n}d": f"2 -> {t} | 2, affine=False -> {t} | 2, track_running_stats=False -> {t} | 2, affine=False, track_running_stats=False -> {t}"
        for n, t in ((1, "seq"), (2, "img"), (3, "vol"))
    },
    **{
        f"LazyBatchNorm{n}d": f"-> {t} | affine=False -> {t} | track_running_stats=False -> {t}"
        for n, t in ((1, "seq"), (2, "img"), (3, "vol"))
    },
    **{
        f"InstanceNorm{n}d": f"2 -> {t} | 2, affine=True -> {t} | 2, track_running_stats=True -> {t} | 2, affine=True, track_running_stats=True -> {t}"
        for n, t in ((1, "seq"), (2, "img"), (3, "vol"))
    },
    **{
        f"LazyInstanceNorm{n}d": f"-> {t} | affine=True -> {t} | track_running_stats=True -> {t}"
        for n, t in ((1, "seq"), (2, "img"), (3, "vol"))
    },
    "SyncBatchNorm": "2 -> img | 2, affine=False -> img",
    "LayerNorm": "4 -> x | 4, elementwise_affine=False -> x | 4, bias=False -> x | (3, 4) -> x",
    "RMSNorm": "4 -> x | 4, elementwise_affine=False -> x",
    "GroupNorm": "1, 2 -> img | 2, 2, affine=False -> img",
    "LocalResponseNorm": "2 -> img",
    "CrossMapLRN2d": "2 -> img",
    "Embedding": "5, 3 -> i | 5, 3, padding_idx=0 -> i | 5, 3, max_norm=1.0 -> i | 5, 3, scale_grad_by_freq=True -> i | 5, 3, sparse=True -> i",
    "EmbeddingBag": "5, 3 -> i2 | 5, 3, mode='sum' -> i2 | 5, 3, mode='max' -> i2 | 5, 3 -> i, o | 5, 3, max_norm=1.0 -> i2 | 5, 3, mode='sum', dtype=torch.float64 -> i2, None, p22",
    **{
        name: "4, 2, dtype=torch.float64 -> b3b | 4, 2, num_layers=2 -> b3b | 4, 2, bidirectional=True -> b3b | 4, 2, batch_first=True -> b3b | 4, 2, bias=False -> b3b"
        f" | 4, 2, 2, dropout=.5 -> b3b | 4, 2 -> b3b, {h} | 4, 2 -> x"
        for name, h in (("RNN", "h3"), ("GRU", "h3"), ("LSTM", "(h3, h3b)"))
    },
    "RNNCell": "4, 2 -> x | 4, 2 -> x, hx | 4, 2, False -> x, hx | 4, 2, nonlinearity='relu' -> x, hx",
    "GRUCell": "4, 2 -> x | 4, 2 -> x, hx | 4, 2, False -> x, hx",
    "LSTMCell": "4, 2 -> x | 4, 2 -> x, (hx, hx2) | 4, 2, False -> x, (hx, hx2)",
    "MultiheadAttention": "4, 2 -> b3b, b3c, b3d | 4, 2 -> b3b, b3c, b3d, need_weights=False | 4, 2, batch_first=True -> b3b, b3c, b3d | 4, 2, dropout=.5 -> b3b, b3c, b3d | 4, 2, bias=False -> b3b, b3c, b3d",
    "TransformerEncoderLayer": "4, 2, 8 -> b3b | 4, 2, 8, dropout=0.0 -> b3b | 4, 2, 8, batch_first=True -> b3b | 4, 2, 8, norm_first=True -> b3b",
    "TransformerDecoderLayer": "4, 2, 8 -> b3b, b3c | 4, 2, 8, dropout=0.0 -> b3b, b3c | 4, 2, 8, batch_first=True -> b3b, b3c",
    "TransformerEncoder": "nn.TransformerEncoderLayer(4, 2, 8), 2 -> b3b | nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), 1 -> b3b",
    "TransformerDecoder": "nn.TransformerDecoderLayer(4, 2, 8), 2 -> b3b, b3c",
    "Transformer": "4, 2, 1, 1, 8 -> b3b, b3c | 4, 2, 1, 1, 8, 0.0 -> b3b, b3c",
    "AdaptiveLogSoftmaxWithLoss": "4, 6, [2, 4] -> x, t",
    "ChannelShuffle": "2 -> img",
    "CosineSimilarity": "-> x, y",
    "PairwiseDistance": "-> x, y | 1.0 -> x, y",
    "Flatten": "-> img | 0 -> x",
    "Unflatten": "1, (2, 2) -> x",
    "Fold": "(4, 4), 2 -> cols",
    "Unfold": "2 -> img",
    "PixelShuffle": "1 -> img | 2 -> img4",
    "PixelUnshuffle": "2 -> img",
    "Upsample": "scale_factor=2 -> img | scale_factor=2, mode='bilinear' -> img | scale_factor=2, mode='linear' -> seq | scale_factor=2, mode='trilinear' -> vol | scale_factor=2, mode='bicubic' -> img",
    "UpsamplingBilinear2d": "scale_factor=2 -> img",
    "UpsamplingNearest2d": "scale_factor=2 -> img",
    "MaxUnpool1d": "2 -> seq[:, :, :2], torch.tensor([[[0, 2], [1, 3]], [[0, 2], [1, 3]]])",
    "MaxUnpool2d": "2 -> img[:, :, :2, :2], torch.tensor([[[[0, 2], [8, 10]], [[0, 2], [8, 10]]], [[[0, 2], [8, 10]], [[0, 2], [8, 10]]]])",
    "MaxUnpool3d": "2 -> vol[:1, :1, :1, :1, :1], torch.zeros(1, 1, 1, 1, 1, dtype=torch.int64)",
    "MaxPool1d": "2 -> seq | 2, return_indices=True -> seq",
    "MaxPool2d": "2 -> img | 2, return_indices=True -> img",
    "MaxPool3d": "2 -> vol | 2, return_indices=True -> vol",
    **{
        f"Adaptive{kind}Pool{n}d": f"1 -> {t} | 2 -> {t} | 4 -> {t}" + (f" | 2, True -> {t}" if kind == "Max" else "")
        for kind in ("Avg", "Max")
        for n, t in ((1, "seq"), (2, "img"), (3, "vol"))
    },
    **{
        name: "-> x, y | reduction='sum' -> x, y | reduction='none' -> x, y"
        for name in ("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss")
    },
    "CrossEntropyLoss": "-> x, t | reduction='sum' -> x, t | reduction='none' -> x, t | v -> x, t | -> x, pr | label_smoothing=.1 -> x, t",
    "NLLLoss": "-> x, t | reduction='sum' -> x, t | reduction='none' -> x, t | v -> x, t",
    "NLLLoss2d": "-> img, t2",
    "BCELoss": "-> pr2, pr | reduction='none' -> pr2, pr | v -> pr2, pr",
    "BCEWithLogitsLoss": "-> x, pr | reduction='none' -> x, pr | v -> x, pr | pos_weight=v -> x, pr",
    "KLDivLoss": "-> x, pr | reduction='batchmean' -> x, pr | reduction='none' -> x, pr | log_target=True -> x, y",
    "TripletMarginLoss": "-> x, y, z | swap=True -> x, y, z | reduction='none' -> x, y, z",
    "TripletMarginWithDistanceLoss": "-> x, y, z",
    "Softmax": "1 -> x | -> x",
    "LogSoftmax": "1 -> x",
    "GELU": "-> x | 'tanh' -> x",
}
