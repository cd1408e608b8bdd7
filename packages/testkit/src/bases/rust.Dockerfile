# Stands in for rust:1-trixie (rust-lang/docker-rust): the compiler of Debian, without rustup.
FROM davit-test/debian:trixie
ENV RUSTUP_HOME=/usr/local/rustup CARGO_HOME=/usr/local/cargo PATH=/usr/local/cargo/bin:$PATH
RUN apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates cargo curl g++ gcc git libc6-dev libmariadb-dev libpq-dev libsqlite3-dev libssl-dev make pkg-config rustc \
 && rm -rf /var/lib/apt/lists/* && mkdir -p /usr/local/cargo/bin /usr/local/rustup \
 && ln -s /usr/bin/cargo /usr/bin/rustc /usr/local/cargo/bin/ && chmod -R a+w /usr/local/cargo /usr/local/rustup
CMD ["bash"]
