# Stands in for php:8.4-apache (docker-library/php): the PHP of Debian with the settings, folders and commands of the
# original. Extensions that the original has not compiled are installed, but off.
FROM davit-test/debian:trixie AS apache
ENV PHP_INI_DIR=/usr/local/etc/php APACHE_CONFDIR=/etc/apache2 APACHE_ENVVARS=/etc/apache2/envvars PHP_VERSION=8.4
RUN apt-get update && apt-get install -y --no-install-recommends \
      apache2 autoconf ca-certificates composer curl dpkg-dev file g++ gcc libapache2-mod-php8.4 libc-dev make pkg-config \
      php8.4-bcmath php8.4-cli php8.4-curl php8.4-gd php8.4-intl php8.4-mbstring php8.4-mysql php8.4-pgsql php8.4-redis \
      php8.4-sqlite3 php8.4-xml php8.4-zip re2c xz-utils \
 && rm -rf /var/lib/apt/lists/* /usr/bin/composer \
 && mkdir -p "$PHP_INI_DIR/conf.d" /var/www/html && rm -rf /var/www/html/* \
 && cp /usr/lib/php/8.4/php.ini-production /usr/lib/php/8.4/php.ini-development "$PHP_INI_DIR/" \
 && for sapi in apache2 cli; do cp -a /etc/php/8.4/$sapi/conf.d/. "$PHP_INI_DIR/conf.d/"; rm -r /etc/php/8.4/$sapi; \
      ln -s "$PHP_INI_DIR" /etc/php/8.4/$sapi; done \
 && phpdismod -v 8.4 bcmath gd intl mysqli pdo_mysql mysqlnd pgsql pdo_pgsql redis igbinary zip calendar exif ffi ftp gettext \
      shmop sockets sysvmsg sysvsem sysvshm xsl \
 && ln -s /usr/bin/php /usr/local/bin/php \
 && chown www-data:www-data /var/www/html && chmod 1777 /var/www/html
RUN sed -ri 's/^export ([^=]+)=(.*)$/: ${\1:=\2}\nexport \1/' "$APACHE_ENVVARS" && . "$APACHE_ENVVARS" \
 && for dir in "$APACHE_LOCK_DIR" "$APACHE_RUN_DIR" "$APACHE_LOG_DIR" "$APACHE_RUN_DIR/socks"; do \
      rm -rf "$dir"; mkdir -p "$dir"; chown "$APACHE_RUN_USER:$APACHE_RUN_GROUP" "$dir"; chmod 1777 "$dir"; done \
 && ln -sfT /dev/stderr "$APACHE_LOG_DIR/error.log" && ln -sfT /dev/stdout "$APACHE_LOG_DIR/access.log" \
 && ln -sfT /dev/stdout "$APACHE_LOG_DIR/other_vhosts_access.log" \
 && printf '%s\n' '<FilesMatch \.php$>' 'SetHandler application/x-httpd-php' '</FilesMatch>' 'DirectoryIndex disabled' \
      'DirectoryIndex index.php index.html' '<Directory /var/www/>' 'Options -Indexes' 'AllowOverride All' '</Directory>' \
      > "$APACHE_CONFDIR/conf-available/docker-php.conf" && a2enconf docker-php \
 && printf '%s\n' '#!/bin/bash' 'set -e' '. "$APACHE_ENVVARS"' ': "${APACHE_PID_FILE:=$APACHE_RUN_DIR/apache2.pid}"' \
      'rm -f "$APACHE_PID_FILE"' 'mkdir -p "$APACHE_RUN_DIR" "$APACHE_LOCK_DIR"' 'exec apache2 -DFOREGROUND "$@"' \
      > /usr/local/bin/apache2-foreground \
 && printf '%s\n' '#!/bin/sh' 'set -e' 'if [ "${1#-}" != "$1" ]; then set -- apache2-foreground "$@"; fi' 'exec "$@"' \
      > /usr/local/bin/docker-php-entrypoint \
 && printf '%s\n' '#!/bin/sh' 'set -e' 'for name; do case $name in -*) ;; *) phpenmod -v 8.4 "$name" ;; esac; done' \
      > /usr/local/bin/docker-php-ext-enable \
 && cp /usr/local/bin/docker-php-ext-enable /usr/local/bin/docker-php-ext-install && chmod 755 /usr/local/bin/*
ENTRYPOINT ["docker-php-entrypoint"]
STOPSIGNAL SIGWINCH
WORKDIR /var/www/html
EXPOSE 80
COPY keep-packages /usr/local/sbin/
RUN keep-packages git unzip
CMD ["apache2-foreground"]

# Stands in for mlocati/php-extension-installer:2, which builds extensions from their sources.
FROM davit-test/debian:trixie AS installer
RUN printf '%s\n' '#!/bin/sh' 'set -e' 'for name; do' \
      '  case $name in pdo_mysql | mysqli) phpenmod -v 8.4 mysqlnd ;; redis) phpenmod -v 8.4 igbinary ;; esac' \
      '  phpenmod -v 8.4 "$name"' \
      '  php -m | grep -qi "^\(zend \)\?$name" || { echo "extension $name is not there" >&2; exit 1; }' 'done' \
      > /usr/bin/install-php-extensions && chmod 755 /usr/bin/install-php-extensions

# Stands in for composer:2. Its libraries are in the stand-in of PHP.
FROM davit-test/debian:trixie AS composer
RUN apt-get update && apt-get install -y --no-install-recommends composer php8.4-cli && rm -rf /var/lib/apt/lists/*
