"""Constants of a loss that are still on a graph, one method a file: the parts of `undetached-target`."""
