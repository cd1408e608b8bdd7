# Stands in for ruby:3.3-slim (docker-library/ruby): the Ruby of Debian, with the variables of the original.
FROM davit-test/debian:trixie AS base
ENV LANG=C.UTF-8 GEM_HOME=/usr/local/bundle BUNDLE_SILENCE_ROOT_WARNING=1 BUNDLE_APP_CONFIG=/usr/local/bundle
ENV PATH=$GEM_HOME/bin:$PATH
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates ruby ruby-bundler && rm -rf /var/lib/apt/lists/* \
 && ln -s /usr/bin/ruby /usr/bin/gem /usr/bin/bundle /usr/bin/irb /usr/local/bin/ \
 && mkdir -p /usr/local/etc "$GEM_HOME" && echo 'gem: --no-document' > /usr/local/etc/gemrc && chmod 1777 "$GEM_HOME"
CMD ["irb"]

FROM base AS slim
COPY keep-packages /usr/local/sbin/
RUN keep-packages libmariadb3 libpq5

# Gems of Debian, as a source of gems.
FROM base AS gems
RUN apt-get update && apt-get install -y --no-install-recommends puma ruby-rackup ruby-rails ruby-sinatra ruby-sqlite3 \
 && rm -rf /var/lib/apt/lists/*
COPY pack-gems /usr/local/sbin/
RUN pack-gems /opt/gems

# Stands in for ruby:3.3: what gems are built with. Bundler takes gems from the folder instead of rubygems.org.
FROM base AS full
RUN apt-get update && apt-get install -y --no-install-recommends \
      curl g++ gcc git libffi-dev libmariadb-dev libpq-dev libsqlite3-dev libssl-dev libyaml-dev make pkg-config ruby-dev unzip \
      zlib1g-dev && rm -rf /var/lib/apt/lists/*
COPY --from=gems /opt/gems /opt/gems
RUN bundle config set --global mirror.https://rubygems.org file:///opt/gems
