# Debian as it was made, with the search path that the other recipes extend.
FROM davit-test/files:trixie
ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
CMD ["bash"]
