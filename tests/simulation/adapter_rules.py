"""The configurations of the adapter in a simulation: the same two metrics, as named metrics and by discovery, and a faulty file."""

from tests.simulation.metrics_apis import PODS_METRIC, QUEUE_METRIC
from tests.simulation.prometheus_model import QUEUE, REQUESTS

NAMED = f"""
metrics:
- name: {QUEUE_METRIC}
  query: 'sum by (namespace, app) ({QUEUE})'
  labels: {{namespace: namespace}}
- name: {PODS_METRIC}
  describes: pods
  query: 'sum by (namespace, pod) ({REQUESTS})'
"""

DISCOVERED = f"""
rules:
- seriesQuery: '{REQUESTS}{{namespace!="",pod!=""}}'
  resources: {{overrides: {{namespace: {{resource: namespace}}, pod: {{resource: pod}}}}}}
  name: {{as: {PODS_METRIC}}}
  metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}}) by (<<.GroupBy>>)'
externalRules:
- seriesQuery: '{QUEUE}{{namespace!=""}}'
  resources: {{overrides: {{namespace: {{resource: namespace}}}}}}
  name: {{as: {QUEUE_METRIC}}}
  metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}}) by (namespace, app)'
"""

FAULTY = """
metrics:
- name: queue
  query: 'sum by ('
  label: {}
"""

INVALID = "faulty"
BY_NAME = {"named": NAMED, "discovered": DISCOVERED, INVALID: FAULTY}
