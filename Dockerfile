# prshots in one image: every component is the same program (`prshots serve api`, `prshots sweep`, …).
#
#   docker build -t prshots .
#   docker run --read-only --tmpfs /tmp -v prshots:/data -p 8080-8082:8080-8082 prshots
#
# The tests run on the same Python, with the same files, by their hashes in requirements/.
ARG PYTHON=3.11-slim-bookworm

FROM python:${PYTHON} AS build
WORKDIR /build
COPY pyproject.toml hatch_build.py README.md LICENSE ./
COPY requirements requirements
COPY web web
COPY src src
# This also builds the dashboard, with Node from PyPI, because this image has none.
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
RUN python -m venv --without-pip /opt/prshots \
    && python -m pip --python /opt/prshots/bin/python install --require-hashes -r requirements/all.txt \
    && python -m pip install --require-hashes -r requirements/build.txt -r requirements/node.txt \
    && python -m pip wheel --no-deps --no-build-isolation --wheel-dir dist . \
    && python -m pip --python /opt/prshots/bin/python install --no-deps dist/*.whl

FROM python:${PYTHON}
# The root file system may be read-only: only /data and /tmp are written. Python's bytecode is in the image.
ENV PATH=/opt/prshots/bin:$PATH \
    PYTHONDONTWRITEBYTECODE=1 \
    PYTHONSAFEPATH=1 \
    PRSHOTS_DATA_DIR=/data \
    PRSHOTS_HOST=0.0.0.0 \
    PRSHOTS_LOG_FORMAT=json
COPY --from=build /opt/prshots /opt/prshots
COPY deploy/docker/healthcheck.py /opt/prshots/healthcheck.py
# A new volume inherits the folder's owner. Kubernetes needs a numeric user to verify that it is not root.
RUN install --directory --owner=10001 --group=10001 --mode=0750 /data
USER 10001:10001
EXPOSE 8080 8081 8082 8083
HEALTHCHECK --interval=15s --timeout=10s --start-period=30s --retries=3 \
    CMD ["python", "/opt/prshots/healthcheck.py"]
STOPSIGNAL SIGTERM
ENTRYPOINT ["prshots"]
CMD ["serve"]
