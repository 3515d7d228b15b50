# tmapr in a container: `docker build -t tmapr .`, then `docker run --rm -v "$PWD:/work" tmapr demo`.
#
# CPU by default, on x86-64 and arm64 alike. On a machine with an NVIDIA GPU and its container toolkit (x86-64):
#   docker build -t tmapr --build-arg BASE=nvidia/cuda:12.8.1-cudnn-runtime-ubuntu24.04 --build-arg RUNTIME=onnxruntime-gpu .
#   docker run --rm --gpus all -v "$PWD:/work" tmapr run street.toml --device cuda
# Training needs torch: --build-arg EXTRAS=bags,tables,train. The base needs Python 3.11 or newer in its package archive.
ARG BASE=debian:bookworm-slim
FROM ${BASE}
ARG EXTRAS=bags,tables
ARG RUNTIME=onnxruntime

RUN apt-get update \
 && apt-get install --yes --no-install-recommends python3 python3-venv \
 && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/tmapr
ENV PATH=/opt/tmapr/bin:$PATH

COPY . /src
RUN pip install --no-cache-dir "/src[${EXTRAS}]" && rm -rf /src
# Both bring the same module; what was installed last would win, and not for certain.
RUN if [ "${RUNTIME}" != onnxruntime ]; then pip uninstall --yes onnxruntime && pip install --no-cache-dir "${RUNTIME}"; fi

# Not root; where it may write, functions compiled on the first run are kept.
RUN useradd --create-home robot && mkdir /work && chown robot /work
ENV NUMBA_CACHE_DIR=/home/robot/.cache/numba
USER robot
WORKDIR /work
ENTRYPOINT ["tmapr"]
CMD ["--help"]
