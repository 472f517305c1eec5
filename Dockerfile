# One image for both programs: docker build -t registry.example.com/loadline-autoscaler:VERSION .
#
# The base image is pinned by the digest of its index, which has all architectures. For a copy in your registry:
#   docker build --build-arg PYTHON=registry.example.com/python:3.11.14-slim-bookworm@sha256:... .
ARG PYTHON=python:3.11.14-slim-bookworm@sha256:65a93d69fa75478d554f4ad27c85c1e69fa184956261b4301ebaf6dbb0a3543d

FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Dependencies first: this layer is rebuilt only if a pin changes. Wheels only: building a source distribution would run its
# code, with build tools that no file pins.
COPY constraints-runtime.txt constraints.txt ./
RUN python -m venv --without-pip /opt/loadline \
 && pip --python /opt/loadline/bin/python install --only-binary=:all: --require-hashes -r constraints-runtime.txt
# The only build tool, pinned in the same file as the development tools.
RUN awk '/^[^ ]/ {wanted = /^setuptools==/} wanted' constraints.txt > constraints-build.txt \
 && pip install --only-binary=:all: --require-hashes -r constraints-build.txt
COPY pyproject.toml README.md LICENSE ./
COPY wire wire
COPY adapter adapter
COPY scaler scaler
COPY kubectl_loadline kubectl_loadline
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
 && pip --python /opt/loadline/bin/python install --no-deps --no-index /wheels/*.whl \
 && ln -s /opt/loadline/bin/loadline-adapter /adapter

FROM ${PYTHON}
ARG VERSION=0.1.0
ARG REVISION=unknown
LABEL org.opencontainers.image.title="loadline-autoscaler" \
      org.opencontainers.image.description="Scales Kubernetes workloads on Prometheus metrics" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}"
# The base image has no bytecode, and a read-only root file system cannot store any: each start would compile the standard library.
# Nothing is installed into this image later, so pip is removed.
RUN library=$(python -c 'import sysconfig; print(sysconfig.get_path("stdlib"))') \
 && rm -rf "$library/site-packages/"* "$library/ensurepip" /usr/local/bin/pip* \
 && python -m compileall -q -x '/(tests?|idlelib|lib2to3|turtledemo)/' --invalidation-mode unchecked-hash "$library"
COPY --from=build /opt/loadline /opt/loadline
# The path of the program in prometheus-adapter's image, for Deployments that name it.
COPY --from=build /adapter /adapter
# The root file system can be read-only: bytecode is compiled above, and certificates are written to --cert-dir.
ENV PATH=/opt/loadline/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
# A number, so that kubelet can verify that it is not root.
USER 10001:10001
# Deployments of prometheus-adapter set only arguments. For the scaler, set `command:` or `--entrypoint loadline-scaler`.
ENTRYPOINT ["loadline-adapter"]
