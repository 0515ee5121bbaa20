"""What is made of the package for clusters and registries: the chart, the image, releases."""
