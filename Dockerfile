# The container image: one binary, and what it needs to resolve names and to verify servers.
#
# `make image` builds it. The files come from an archive in the build context, target/image/context,
# which infra/image/build assembles. So nothing is downloaded, and the image has no shell and no
# package manager.
FROM scratch

# The archives are named as container tools name architectures: amd64, arm64.
ARG TARGETARCH
ADD ${TARGETARCH}.tar /

LABEL org.opencontainers.image.title="Minutehand" \
      org.opencontainers.image.description="A job scheduler with the REST API of Azure Scheduler" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"

# A user of no name outside the image; /data belongs to it.
USER 65532:65532
WORKDIR /data
VOLUME /data
EXPOSE 7070

# The health check is part of the binary. With --insecure-http instead of TLS, set this to http.
ENV MINUTEHAND_URL=https://127.0.0.1:7070
HEALTHCHECK --interval=30s --timeout=10s --start-period=10s --retries=3 \
    CMD ["/minutehand", "health"]

# A token crosses the network with every request, so TLS is the default here as it is everywhere else.
# Behind a proxy that does TLS, give other arguments: serve ... --insecure-http.
ENTRYPOINT ["/minutehand"]
CMD ["serve", "--listen", "0.0.0.0:7070", "--data", "/data", "--tls-self-signed"]
