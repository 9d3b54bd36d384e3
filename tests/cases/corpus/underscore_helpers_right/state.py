def rename_key_(state, old, new):
    """Rename a key of a dictionary in place."""
    state[new] = state.pop(old)


def strip_prefix_(state, prefix):
    for key in list(state):
        if key.startswith(prefix):
            rename_key_(state, key, key[len(prefix) :])
