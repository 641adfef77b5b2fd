"""The jobs that the API sends to its picture workers. `contracts/test_compare_pictures.py` has their replies."""

import io

from hypothesis import given
from hypothesis import strategies as st

from prshots.server.adapters.pictures.workers.jobs import PictureJob, read_job

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
