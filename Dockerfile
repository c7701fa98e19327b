# Two stages on one Debian 12 base: the first builds weir, the second holds only what it runs on.
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
RUN cmake --preset release -DWEIR_BUILD_TESTS=OFF -DWEIR_BUILD_BENCH=OFF -DWEIR_REVISION="$REVISION" \
    && cmake --build --preset release --target weir \
    && strip build/release/bin/weir

FROM ${BASE}
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        ca-certificates libprometheus-cpp-core1.0 libsodium23 libspdlog1.10 \
        libyaml-cpp0.7 zlib1g \
    && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/release/bin/weir /usr/bin/weir
# An example: --config /etc/weir/example/config/weir.yaml.
COPY config /etc/weir/example/config
USER 65532:65532
EXPOSE 8000 9902 7946/udp
ENTRYPOINT ["/usr/bin/weir"]
CMD ["run", "--config", "/etc/weir/config/weir.yaml"]
