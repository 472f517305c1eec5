# syntax=docker/dockerfile:1
# One image for both programs. `docker build -t REGISTRY/loadline-autoscaler:VERSION .`
#
# The base is pinned by its tag: its digest is known to the registry that you build against, so pin it there, as in
#   docker build --build-arg PYTHON=python:3.11.14-slim-bookworm@sha256:... .
ARG PYTHON=python:3.11.14-slim-bookworm

FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Dependencies first: this layer is built anew only when a pin changes.
COPY constraints-runtime.txt constraints.txt ./
RUN python -m venv --without-pip /opt/loadline \
 && pip --python /opt/loadline/bin/python install --require-hashes -r constraints-runtime.txt
# The one build tool, pinned where the development tools are.
RUN awk '/^[^ ]/ {wanted = /^setuptools==/} wanted' constraints.txt > constraints-build.txt \
 && pip install --require-hashes -r constraints-build.txt
COPY pyproject.toml README.md LICENSE ./
COPY wire wire
COPY adapter adapter
COPY scaler scaler
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && pip --python /opt/loadline/bin/python install --no-deps --no-index /wheels/*.whl \
 && ln -s /opt/loadline/bin/loadline-adapter /adapter

FROM ${PYTHON}
LABEL org.opencontainers.image.title="loadline-autoscaler" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/loadline /opt/loadline
# prometheus-adapter's image has its program here; a Deployment that names it keeps working.
COPY --from=build /adapter /adapter
# The root file system may be read-only: bytecode was compiled above, and certificates go to --cert-dir.
ENV PATH=/opt/loadline/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that kubelet can see that it is not root.
USER 10001:10001
# prometheus-adapter's Deployments give arguments only. The scaler is `--entrypoint loadline-scaler`, or `command:`.
ENTRYPOINT ["loadline-adapter"]
