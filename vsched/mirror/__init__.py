"""The cluster as watched: objects decoded, read into the model, and kept with what is assumed of them."""
