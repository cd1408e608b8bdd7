# Stands in for debian:trixie-slim, with the packages that Dockerfiles of programs with libraries install.
FROM davit-test/debian:trixie
COPY keep-packages /usr/local/sbin/
RUN keep-packages ca-certificates libmariadb3 libpq5 libsqlite3-0 libssl3t64
CMD ["bash"]
