"""The image without a container engine: its steps are read from the Dockerfile and run in a root directory."""
