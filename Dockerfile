# docker build -t firthian . && docker run --rm -v "$PWD":/work firthian train corpus.txt -o vectors
FROM python:3.13-slim AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM python:3.13-slim
# Extras, such as [viz] or [web,ask].
ARG EXTRAS=""
COPY --from=build /wheels /wheels
# Compiled code is kept in the image: a container would compile it again at each start.
ENV NUMBA_CACHE_DIR=/var/cache/firthian
# The wheel is of this source; what it requires comes in current versions, as with pip install.
# hadolint ignore=DL3013
RUN wheel="$(ls /wheels/*.whl)" \
    && python -m pip install --no-cache-dir "${wheel}${EXTRAS}" \
    && useradd --create-home --uid 1000 firth \
    && install -d -o firth /var/cache/firthian /work
USER 1000
WORKDIR /work
RUN printf 'tea with milk\ncoffee with milk\n%.0s' 1 2 3 4 5 6 7 8 9 > /tmp/corpus.txt \
    && firth train /tmp/corpus.txt -m svd --dim 2 --sample 0 -o /tmp/vectors \
    && firth neighbors /tmp/vectors tea \
    && rm -r /tmp/corpus.txt /tmp/vectors
ENTRYPOINT ["firth"]
CMD ["--help"]
