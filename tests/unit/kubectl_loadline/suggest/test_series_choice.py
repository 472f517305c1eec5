"""Which recorded series an autoscaler can scale on."""

from kubectl_loadline.backtest.series import series_of
from kubectl_loadline.suggest.series_choice import CPU, judged

CPU_USAGE = [1.0 + hour for hour in range(24)]


def by_hour(values):
    return series_of([(3600.0 * hour, value) for hour, value in enumerate(values)], 3600)


def test_a_series_that_falls_while_the_pods_work_more_is_rejected():
    """For example free connections: an autoscaler would add pods while there is nothing to do."""
    found = judged({CPU: by_hour(CPU_USAGE), "free": by_hour(CPU_USAGE[::-1])})
    assert [each.name for each in found] == [CPU, "free"]
    assert "its correlation with their CPU usage is -1.00" in found[1].rejected


def test_a_series_that_rises_with_the_work_of_the_pods_comes_before_cpu():
    found = judged({CPU: by_hour(CPU_USAGE), "requests": by_hour([9 * each for each in CPU_USAGE])})
    assert [(each.name, each.rejected) for each in found] == [("requests", ""), (CPU, "")]
