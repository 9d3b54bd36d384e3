"""Programs made to be too much for an analysis: each ends with a plain mistake that has to be found all the same."""
