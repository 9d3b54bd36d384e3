"""Random training programs: which parameters learn, by PyTorch's word and by gradpath's ledger."""
