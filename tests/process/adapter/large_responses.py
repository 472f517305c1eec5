"""A server that responds as the Prometheus of a large cluster, in a process of its own.

`python -m tests.process.adapter.large_responses PORT SERIES ROWS`
"""

import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SERIES_PER_NAME = 10


def series(size: int) -> Iterator[str]:
    """Elements of /api/v1/series; a metric has ten pods."""
    for number in range(size):
        pod = number % SERIES_PER_NAME
        yield (
            f'{{"__name__":"app_metric_{number // SERIES_PER_NAME}_total","container":"main","endpoint":"http",'
            f'"instance":"10.0.0.{pod}:80","job":"app","namespace":"team-{pod}","pod":"web-{pod}"}}'
        )


def rows(size: int) -> Iterator[str]:
    """Elements of the result of an instant query."""
    for number in range(size):
        labels = f'{{"namespace":"team-{number % 400}","pod":"web-{number}"}}'
        yield f'{{"metric":{labels},"value":[1763805600.123,"{number}.25"]}}'


def bodies(series_size: int, rows_size: int) -> dict[str, bytes]:
    """Response by path."""
    listed, result = ",".join(series(series_size)), ",".join(rows(rows_size))
    return {
        "/api/v1/series": f'{{"status":"success","data":[{listed}]}}'.encode(),
        "/api/v1/query": (
            f'{{"status":"success","data":{{"resultType":"vector","result":[{result}]}}}}'.encode()
        ),
    }


def main() -> None:
    """Serve until killed."""
    port, series_size, rows_size = map(int, sys.argv[1:])
    prepared = bodies(series_size, rows_size)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = prepared.get(self.path.partition("?")[0], b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Not logged."""

    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    main()
