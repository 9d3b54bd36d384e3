def plot(x, y):
    return list(zip(x.ravel().tolist(), y.ravel().tolist()))
