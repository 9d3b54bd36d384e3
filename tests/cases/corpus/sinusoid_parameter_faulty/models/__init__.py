from .transformer import TransformerLM


def build_model(config):
    return TransformerLM(**config)


__all__ = ["TransformerLM", "build_model"]
