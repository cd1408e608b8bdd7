# Stands in for eclipse-temurin:21-jre (adoptium/containers), on Debian instead of Ubuntu.
FROM davit-test/debian:trixie AS jre
ENV JAVA_HOME=/opt/java/openjdk LANG=en_US.UTF-8 LANGUAGE=en_US:en LC_ALL=en_US.UTF-8
ENV PATH=$JAVA_HOME/bin:$PATH
# The post-installation scripts of packages of Java write manual pages.
RUN mkdir -p /usr/share/man/man1 /opt/java && apt-get update && apt-get install -y --no-install-recommends \
      ca-certificates curl fontconfig gnupg locales openjdk-21-jre-headless p11-kit tzdata wget \
 && rm -rf /var/lib/apt/lists/* && echo 'en_US.UTF-8 UTF-8' > /etc/locale.gen && locale-gen \
 && ln -s /usr/lib/jvm/java-21-openjdk-amd64 /opt/java/openjdk \
 && printf '#!/bin/sh\nexec "$@"\n' > /__cacert_entrypoint.sh && chmod 755 /__cacert_entrypoint.sh
ENTRYPOINT ["/__cacert_entrypoint.sh"]

# Stands in for eclipse-temurin:21-jdk. Its users are those of Ubuntu: 1000 is taken.
FROM jre AS jdk
RUN apt-get update && apt-get install -y --no-install-recommends binutils openjdk-21-jdk-headless && rm -rf /var/lib/apt/lists/* \
 && useradd --create-home --uid 1000 ubuntu

# Stands in for maven:3-eclipse-temurin-21 (carlossg/docker-maven). Plugins and libraries are those that Debian packages,
# instead of the central repository.
FROM jdk AS maven
RUN apt-get update && apt-get install -y --no-install-recommends \
      git libmaven-assembly-plugin-java libmaven-compiler-plugin-java libmaven-dependency-plugin-java libmaven-jar-plugin-java \
      libmaven-resources-plugin-java libmaven-shade-plugin-java libslf4j-java libsurefire-java maven openssh-client && rm -rf /var/lib/apt/lists/* \
 && mkdir -p /root/.m2 \
 && echo '<settings><mirrors><mirror><id>debian</id><mirrorOf>*</mirrorOf><url>file:///usr/share/maven-repo</url></mirror></mirrors></settings>' \
    > /usr/share/maven/conf/settings.xml \
 && printf '#!/bin/sh\nexec "$@"\n' > /usr/local/bin/mvn-entrypoint.sh && chmod 755 /usr/local/bin/mvn-entrypoint.sh
COPY maven-metadata /usr/local/sbin/
RUN maven-metadata
# The scripts of Maven's wrapper take this variable for arguments.
ENV MAVEN_HOME=/usr/share/maven MAVEN_CONFIG=/root/.m2
ENTRYPOINT ["/usr/local/bin/mvn-entrypoint.sh"]
CMD ["mvn"]

# Stands in for gradle:8-jdk21 (keeganwitt/docker-gradle) with the Gradle of Debian, which is 4.4.1.
FROM jdk AS gradle
ENV GRADLE_HOME=/opt/gradle
RUN apt-get update && apt-get install -y --no-install-recommends git gradle make openssh-client unzip && rm -rf /var/lib/apt/lists/* \
 && groupmod --new-name gradle ubuntu && usermod --login gradle --home /home/gradle --move-home ubuntu \
 && mkdir /home/gradle/.gradle && chown -R gradle:gradle /home/gradle && chmod -R o+rwx /home/gradle \
 && ln -s /home/gradle/.gradle /root/.gradle && ln -s /usr/share/gradle /opt/gradle
VOLUME /home/gradle/.gradle
WORKDIR /home/gradle
CMD ["gradle"]
