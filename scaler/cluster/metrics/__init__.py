"""Stage: read the three metrics APIs, by the same requests as the HPA controller."""
