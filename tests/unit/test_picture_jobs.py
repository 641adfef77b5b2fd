"""The messages between the API and its picture workers."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prshots.contract.errors import (
    DamagedPictureError,
    PictureError,
    PictureTooLargeError,
    UnsupportedPictureError,
)
from prshots.server.adapters.pictures.workers.jobs import (
    PREFIX,
    PictureJob,
    pack_error,
    pack_pair,
    pack_result,
    read_job,
    result_of,
    unpack_pair,
)
from prshots.server.domain.comparison.models import PairResult


def split(reply: bytes) -> tuple[bytes, bytes]:
    """Return the header and the body of a packed message."""
    header_size, body_size = PREFIX.unpack_from(reply)
    rest = reply[PREFIX.size :]
    assert len(rest) == header_size + body_size
    return rest[:header_size], rest[header_size:]


JOBS = st.builds(
    PictureJob,
    st.text(),
    st.lists(st.binary(max_size=50), max_size=4),
    st.dictionaries(st.text(), st.text() | st.floats(allow_nan=False)),
)


@given(st.lists(JOBS, max_size=3))
def test_jobs_arrive_as_they_were_sent(jobs: list[PictureJob]) -> None:
    stream = io.BytesIO(b"".join(job.pack() for job in jobs))
    assert [read_job(stream) for _ in jobs] == jobs
    assert read_job(stream) is None


@given(JOBS, st.data())
def test_a_job_that_is_cut_off_is_the_end(job: PictureJob, data: st.DataObject) -> None:
    packed = job.pack()
    assert read_job(io.BytesIO(packed[: data.draw(st.integers(0, len(packed) - 1))])) is None


@given(st.binary(max_size=100))
def test_a_result_arrives_as_it_was_sent(result: bytes) -> None:
    assert result_of(*split(pack_result(result))) == result


@pytest.mark.parametrize("kind", [DamagedPictureError, UnsupportedPictureError, PictureTooLargeError])
def test_an_error_arrives_with_its_kind_and_words(kind: type[PictureError]) -> None:
    with pytest.raises(kind, match=r"^too much: ü$"):
        result_of(*split(pack_error(kind("too much: ü"))))


def test_the_result_of_a_comparison_arrives_as_it_was_sent() -> None:
    result = PairResult("changed", 12, ((1, 2, 3, 4), (5, 6, 7, 8)), -9, b"\xff\xd8picture")
    assert unpack_pair(pack_pair(result)) == result
