"""Observes a real PyTorch, by behaviour, and writes the op table that `gradpath.autograd.ops` reads.

Not part of the product: it needs torch, the product never does. `python -m observe OUT.json`, with `server` on the
path, takes some minutes and always writes the same for the same PyTorch. The table:

- `torch`: the version observed; `left_out`: names without an entry, and why; `aliases`: names that behave like another.
- `ops`: by full name (`torch.mul`, `torch.Tensor.mul_`, `operator.pow`, `getitem:mask`) an entry with
  - `params`: the signature in order; `*` begins the keywords, `*name` takes the rest, `name=json` has that default;
  - `outputs`: for each tensor that comes back `alias` (what it shares with an argument, the likeliest first; `ownview`
    is a view of a tensor that nobody else has), `grad`
    (the arguments whose requiring grad it takes on), `maybe_grad`, `shape` and `dtype` (words that always held);
  - `returns`: how outputs are nested, where it is not one tensor or a flat tuple; `fields`: names of a named tuple;
  - `saves`: what is saved to the arguments of which one must have an edge; `pairwise`: lists whose items are saved for
    one another only; `holds`: the arguments whose edge makes a second backward raise;
  - `second`: the arguments whose gradient depends on arguments, and on which: it has a graph with `create_graph`;
  - `inplace`: the argument that is written, whose new value is `out0`; `derivative`: false where there is none;
  - `maybe`: `saves`, `holds` and `second` on which samples disagreed that no condition tells apart;
  - `cases`: entries with conditions (`when`); the first that holds wins and inherits what it does not say.
- `modules`: by class `init` and `forward` (signatures), `parameters` and `buffers` (with conditions on the arguments of
  the constructor), `train` and `eval` (entries; null is as in training). Where a name is both in the constructor and in
  `forward`, conditions mean the constructor's.
"""
