"""All that the engine says to people, by what it is about; its sub-rooms have modules of their own."""
