"""The analysis of a document: where it is entered, what is certain, what an edit leaves valid, which fixes hold."""
