"""The autoscaler of Knative Serving, whose panic mode the scaler has."""
