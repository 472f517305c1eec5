"""When a streamed response may be used in place of a GET, and what is watched."""

import msgspec
import pytest

from scaler.cluster.metrics.metric_stream import (
    BODIES_BYTES_MAX,
    DENIED_SECONDS,
    PATH_CHARACTERS_MAX,
    PATHS_CHARACTERS_MAX,
    REFUSED_SECONDS,
    UNUSED_SECONDS,
    MetricStream,
)
from wire.api.metric_stream import (
    REQUEST_BYTES_MAX,
    StreamedResponse,
    StreamUpdate,
    decode_request,
    decode_update,
    encode,
    send_a_get,
)

PATH = "/apis/external.metrics.k8s.io/v1beta1/namespaces/shop/queue"
MAX_AGE_SECONDS = 5.0


class World:
    """An open stream, and the adapter at its other end."""

    def __init__(self):
        self.seconds = 1000.0
        self.is_served = True
        self.changed = []
        self.stream = MetricStream(lambda: self.seconds)
        self.stream.on_change = self.changed.append
        self.dropped = []
        self.stream.on_drop = self.dropped.append
        self.open()

    def open(self):
        self.stream.opened(lambda _: self.is_served)

    def sent(self):
        """The messages to the adapter, as one."""
        found = [decode_request(each) for each in self.stream.requests()]
        watch = {each.id: each.path for request in found for each in request.watch}
        return found[-1].now, watch, [each for request in found for each in request.stop]

    def receives(self, *, as_of=None, code=200, **bodies):
        responses = tuple(
            StreamedResponse(int(name[1:]), code, msgspec.Raw(body))
            for name, body in bodies.items()
        )
        update = StreamUpdate(responses=responses, as_of=as_of)
        self.stream.received(decode_update(encode(update)))

    def unused(self):
        self.sent()
        self.seconds += UNUSED_SECONDS + 10.0
        self.sent()

    def stop(self):
        self.stream.stop(PATH)

    def body(self):
        found = self.stream.use(PATH, MAX_AGE_SECONDS)
        return None if found is None else found.body


def watching():
    world = World()
    world.stream.watch(PATH)
    assert world.sent() == (1000.0, {1: PATH}, [])
    return world


def test_a_path_without_a_response_for_now_is_read_by_gets_and_goes_on_to_be_watched():
    world = watching()
    world.receives(_1=b'"old"', as_of=1000.0)
    temporary = send_a_get("Prometheus takes too long", is_temporary=True)
    world.receives(_1=msgspec.json.encode(temporary.to_status()), code=429)
    world.receives(as_of=1000.0)
    assert (world.body(), world.stream.responses, world.dropped) == (None, 0, [])
    assert world.stream.watch(PATH)
    assert world.sent() == (1000.0, {}, []), "it is watched already"
    world.receives(_1=b'"new"', as_of=1000.0)
    assert world.body() == b'"new"'
    assert world.changed == [PATH, PATH]


def test_a_path_that_gets_no_response_is_not_watched():
    world = watching()
    refused = send_a_get("it takes too much memory", is_temporary=False)
    world.receives(_1=msgspec.json.encode(refused.to_status()), code=429)
    assert world.dropped == [PATH]
    assert not world.stream.watch(PATH)


def test_a_response_is_used_only_after_the_adapter_has_confirmed_it():
    world = watching()
    assert world.body() is None
    world.receives(_1=b'"a"')
    assert world.body() is None
    world.receives(as_of=999.0)
    assert world.body() == b'"a"'


def test_a_response_is_the_same_object_until_another_one_arrives():
    world = watching()
    world.receives(_1=b'"a"', as_of=1000.0)
    first = world.stream.use(PATH, MAX_AGE_SECONDS)
    world.receives(as_of=1001.0)
    assert world.stream.use(PATH, MAX_AGE_SECONDS) is first
    assert world.changed == [PATH], "it may have changed since the GET"
    world.receives(_1=b'"b"', as_of=1002.0)
    assert world.body() == b'"b"'
    assert world.changed == [PATH, PATH]


def test_a_response_that_is_not_confirmed_is_used_until_its_greatest_age():
    world = watching()
    world.receives(_1=b'"a"', as_of=1000.0)
    world.seconds = 1005.0
    assert world.body() == b'"a"'
    world.seconds = 1005.1
    assert world.body() is None
    world.receives(as_of=1005.0)
    assert world.body() == b'"a"'


def test_a_confirmation_from_the_future_holds_no_longer_than_one_of_now():
    world = watching()
    world.receives(_1=b'"a"', as_of=1e18)
    assert world.body() == b'"a"'
    world.seconds += MAX_AGE_SECONDS + 0.1
    assert world.body() is None
    world.receives(as_of=world.seconds)
    assert world.body() == b'"a"'


def test_after_the_stream_is_lost_nothing_is_used_and_all_is_watched_again():
    world = watching()
    world.receives(_1=b'"a"', as_of=1000.0)
    world.stream.closed()
    assert world.body() is None
    world.stream.watch(PATH)
    assert len(world.stream) == 0, "there is no stream"
    world.open()
    world.receives(_1=b'"late"', as_of=1000.0)
    assert world.body() is None
    world.stream.watch(PATH)
    _, watch, _ = world.sent()
    assert watch == {2: PATH}


def test_a_path_that_another_server_serves_now_is_neither_used_nor_watched():
    world = watching()
    world.receives(_1=b'"a"', as_of=1000.0)
    world.is_served = False
    assert world.body() is None
    world.stream.watch("/apis/other")
    assert len(world.stream) == 1


@pytest.mark.parametrize(
    ("code", "seconds"),
    [(400, REFUSED_SECONDS), (401, DENIED_SECONDS), (403, DENIED_SECONDS), (429, REFUSED_SECONDS)],
)
def test_a_path_that_the_adapter_refuses_is_requested_and_watched_again_later(code, seconds):
    world = watching()
    world.receives(_1=b'"a"', as_of=1000.0)
    world.receives(_1=b"{}", code=code)
    assert world.body() is None
    assert world.sent()[2] == [1]
    world.stream.watch(PATH)
    assert len(world.stream) == 0
    world.seconds += seconds - 0.1
    world.stream.watch(PATH)
    assert len(world.stream) == 0
    world.seconds += 0.1
    world.stream.watch(PATH)
    assert len(world.stream) == 1


def test_a_failure_of_the_metric_is_a_response():
    world = watching()
    world.receives(_1=b'{"message":"no metric"}', code=404, as_of=1000.0)
    assert world.stream.use(PATH, MAX_AGE_SECONDS).code == 404


def test_a_path_that_is_not_used_any_more_is_stopped():
    world = watching()
    world.receives(_1=b'"a"', as_of=1000.0)
    world.seconds += UNUSED_SECONDS
    world.receives(as_of=world.seconds)
    assert world.body() == b'"a"'
    world.seconds += UNUSED_SECONDS
    assert world.sent()[2] == []
    world.seconds += 1
    world.seconds += 10
    assert world.sent()[2] == [1]
    assert world.stream.responses == 0


def test_no_message_is_larger_than_the_adapter_accepts():
    world = World()
    count = 2 * REQUEST_BYTES_MAX // PATH_CHARACTERS_MAX
    paths = [f"/apis/{number:0>{PATH_CHARACTERS_MAX - 100}}" for number in range(count)]
    for each in paths:
        assert world.stream.watch(each)
    messages = list(world.stream.requests())
    assert max(map(len, messages)) <= REQUEST_BYTES_MAX
    watched = [each.path for message in messages for each in decode_request(message).watch]
    assert watched == paths


def test_a_path_that_is_very_long_is_not_watched():
    world = World()
    assert world.stream.watch("/apis/".ljust(PATH_CHARACTERS_MAX, "x"))
    assert not world.stream.watch("/apis/".ljust(PATH_CHARACTERS_MAX + 1, "x"))


def test_paths_that_are_too_long_together_are_not_watched():
    world = World()
    count = PATHS_CHARACTERS_MAX // PATH_CHARACTERS_MAX
    paths = [f"/apis/{number:0>{PATH_CHARACTERS_MAX - 6}}" for number in range(count + 1)]
    assert [world.stream.watch(each) for each in paths] == [True] * count + [False]
    world.stream.stop(paths[0])
    assert world.stream.watch(paths[-1])
    world.stream.closed()
    world.open()
    assert [world.stream.watch(each) for each in paths] == [True] * count + [False]


def test_a_path_from_which_nothing_is_decided_any_more_is_stopped():
    world = watching()
    world.receives(_1=b'"a"', as_of=1000.0)
    world.stream.stop(PATH)
    assert world.body() is None
    assert (len(world.stream), world.stream.responses) == (0, 0)
    assert world.sent()[1:] == ({}, [1])
    world.stream.stop(PATH)
    assert world.sent()[1:] == ({}, [])


def test_a_path_that_is_stopped_before_the_adapter_knows_it_is_not_sent():
    world = World()
    world.stream.watch(PATH)
    world.stream.stop(PATH)
    assert world.sent()[1:] == ({}, [])


def test_whatever_ends_it_a_path_that_is_not_watched_any_more_is_dropped_once():
    world = watching()
    world.receives(_1=b"{}", code=400)
    assert world.dropped == [PATH]
    for number, end in enumerate((world.unused, world.stop, world.stream.closed), start=2):
        world.seconds += REFUSED_SECONDS
        assert world.stream.watch(PATH)
        end()
        world.stream.stop(PATH)
        assert world.dropped == [PATH] * number


def test_responses_that_do_not_fit_in_memory_together_are_read_by_gets():
    world = World()
    paths = [f"{PATH}_{number}" for number in range(3)]
    for path in paths:
        world.stream.watch(path)
    world.sent()
    half = b'"' + b"x" * (BODIES_BYTES_MAX // 2 - 2) + b'"'
    world.receives(_1=half, _2=half)
    world.receives(_3=b'"x"', as_of=1000.0)
    assert [world.stream.use(path, MAX_AGE_SECONDS) is None for path in paths] == [
        False,
        False,
        True,
    ]
    assert world.sent()[2] == [3]
    world.receives(_1=b'"small"')
    world.seconds += REFUSED_SECONDS
    world.stream.watch(paths[2])
    assert world.sent()[1] == {4: paths[2]}
    world.receives(_4=b'"x"', as_of=world.seconds)
    assert world.stream.use(paths[2], MAX_AGE_SECONDS).body == b'"x"'
