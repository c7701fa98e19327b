# The first stage builds weir on Debian 12; the image holds only the program, the libraries that it loads, and a
# list of both.
ARG BASE=debian:12-slim

FROM ${BASE} AS build
WORKDIR /src
# With a compiler cache mounted at /ccache, objects of any checkout fit; ccache tells locales apart.
ARG LANG
ENV CCACHE_DIR=/ccache CCACHE_BASEDIR=/src CCACHE_NOHASHDIR=1
COPY scripts/install-deps scripts/show-packages scripts/
RUN scripts/install-deps
COPY . .
# There is no repository here that could be asked: what 'weir version' says.
ARG REVISION=unknown
ARG VERSION=0.1.0
RUN cmake --preset release -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_BENCH=OFF -DWEIR_REVISION="$REVISION" \
    && cmake --build --preset release --target weir \
    && strip build/release/bin/weir \
    && scripts/make-image-root build/release/bin/weir /image "$VERSION" "$REVISION" \
    # An example: --config /etc/weir/example/config/weir.yaml.
    && mkdir -p /image/etc/weir/example && cp -r config /image/etc/weir/example/

FROM scratch
ARG REVISION=unknown
ARG VERSION=0.1.0
LABEL org.opencontainers.image.title="weir" \
      org.opencontainers.image.description="A rate-limiting reverse proxy that shares its counts by gossip" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION"
COPY --from=build /image /
ENV PATH=/usr/bin
USER 65532:65532
EXPOSE 8000 9902 7946/udp
ENTRYPOINT ["/usr/bin/weir"]
CMD ["run", "--config", "/etc/weir/config/weir.yaml"]
