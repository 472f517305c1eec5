"""Compares Loadline's adapter with the real prometheus-adapter v0.12.0: same cluster, Prometheus, configuration, requests.

cluster_and_series        the objects in the cluster and the series in Prometheus
configurations/           the configuration files; generated_configuration makes more by seed
invalid_configurations    files with which both must refuse to start
metrics_requests          the requests, by seed; request_vocabulary has their parts
adapter_instances         the two processes and their HTTPS client
frozen_prometheus         a proxy that evaluates every query at one fixed time
response_comparison       when two responses are equal
adapter_deviations        the intended differences
adapter_comparison        the whole comparison
through_aggregator        the same through kube-apiserver
"""
