"""What a LoadAutoscaler has beyond an HPA. Pure."""
