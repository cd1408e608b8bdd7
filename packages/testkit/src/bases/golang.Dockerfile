# Stands in for golang:1.24 (docker-library/golang): the Go of Debian at the path of the original, with its variables.
FROM davit-test/debian:trixie
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates curl g++ gcc git golang-1.24-go libc6-dev make pkg-config wget && rm -rf /var/lib/apt/lists/* \
 && ln -s /usr/lib/go-1.24 /usr/local/go && mkdir -p /go/src /go/bin && chmod -R 1777 /go
ENV GOTOOLCHAIN=local GOPATH=/go
ENV PATH=$GOPATH/bin:/usr/local/go/bin:$PATH
WORKDIR $GOPATH
CMD ["bash"]
