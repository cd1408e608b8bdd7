import type { Detected, Language } from './detect.ts';

/** Names the registry, as not every builder has a default one. */
const library = 'docker.io/library';

const writers: Readonly<Record<Language, (found: Detected) => string>> = {
  Node: nodeFile,
  Python: pythonFile,
  Go: goFile,
  Rust: rustFile,
  Java: javaFile,
  PHP: phpFile,
  Ruby: rubyFile,
  'static files': pagesFile,
};

/** Returns a Dockerfile for the program: short, with a comment where a line is not obvious, to be kept and changed. */
export function dockerfileFor(found: Detected): string {
  return `${writers[found.language](found).trim()}\n`;
}

/** Returns the .dockerignore that goes with it: files that are made on each machine, and those with secrets. */
export function dockerignoreFor({ language }: Detected): string {
  const names: Partial<Record<Language, readonly string[]>> = {
    Node: ['node_modules', 'npm-debug.log'],
    Python: ['__pycache__', '**/*.pyc', '.venv', 'venv'],
    Rust: ['target'],
    Java: ['target', 'build', '.gradle'],
    PHP: ['vendor'],
    Ruby: ['.bundle', 'vendor/bundle', 'log', 'tmp'],
    'static files': ['Dockerfile', '.dockerignore'],
  };
  return ['.git', '.env', ...(names[language] ?? []), ''].join('\n');
}

const installs: Readonly<Record<string, string>> = {
  npm: 'npm ci',
  yarn: 'corepack enable && yarn install --immutable',
  pnpm: 'corepack enable && pnpm install --frozen-lockfile',
};
const lockFiles: Readonly<Record<string, string>> = { npm: 'package-lock.json', yarn: 'yarn.lock', pnpm: 'pnpm-lock.yaml' };

function nodeFile({ version, port, facts }: Detected): string {
  const { manager = 'npm', hasLock, build = '', start = '', output } = facts;
  const files = hasLock === 'true' ? `package.json ${lockFiles[manager]}` : 'package.json';
  const install = hasLock === 'true' ? installs[manager] : `${manager} install`;
  const from = `${library}/node:${version ?? '24'}-slim`;
  const steps = `WORKDIR /app
# Packages are installed again only when these files change.
COPY ${files} ./
RUN ${install}
COPY . .
${build === '' ? '' : `RUN ${build}\n`}`;
  if (output !== undefined) {
    return `FROM ${from} AS build
${steps}
# Only the built pages are served.
FROM ${library}/nginx:stable-alpine
COPY --from=build /app/${output} /usr/share/nginx/html
EXPOSE 80`;
  }
  return `FROM ${from}
${steps}ENV NODE_ENV=production PORT=${port}
USER node
EXPOSE ${port}
CMD ${command(start)}`;
}

function pythonFile({ version, port, facts }: Detected): string {
  const { install = '', start = '', server = '' } = facts;
  const installing = [install, server === '' ? '' : `pip install --no-cache-dir ${server}`]
    .filter((one) => one !== '')
    .join(' && ');
  const isEarly = install.includes('requirements.txt');
  const run = installing === '' ? '' : `RUN ${installing}\n`;
  return `FROM ${library}/python:${version ?? '3.13'}-slim
WORKDIR /app
# Output appears in the log at once.
ENV PYTHONUNBUFFERED=1 PORT=${port}
${isEarly ? `# Packages are installed again only when this file changes.\nCOPY requirements.txt ./\n${run}COPY . .\n` : `COPY . .\n${run}`}RUN useradd --create-home app
USER app
EXPOSE ${port}
CMD ${command(start)}`;
}

function goFile({ version, port, facts: { main = '.', hasSum } }: Detected): string {
  return `FROM ${library}/golang:${version ?? '1.25'} AS build
WORKDIR /src
# Modules are fetched again only when these files change.
COPY go.mod ${hasSum === 'true' ? 'go.sum ' : ''}./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -o /app ${main}

FROM ${library}/debian:stable-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /app /app
ENV PORT=${port}
USER nobody
EXPOSE ${port}
CMD ["/app"]`;
}

function rustFile({ version, port, facts: { binary = 'app', locked = '' } }: Detected): string {
  return `FROM ${library}/rust:${version ?? '1'}-slim AS build
WORKDIR /src
COPY . .
RUN cargo build --release${locked}

FROM ${library}/debian:stable-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/target/release/${binary} /app
ENV PORT=${port}
USER nobody
EXPOSE ${port}
CMD ["/app"]`;
}

function javaFile({ version, port, facts: { tool, hasWrapper } }: Detected): string {
  const release = version ?? '21';
  const isMaven = tool === 'maven';
  const image = isMaven ? `maven:3-eclipse-temurin-${release}` : `gradle:8-jdk${release}`;
  const program = hasWrapper === 'true' ? `sh ${isMaven ? 'mvnw' : 'gradlew'}` : isMaven ? 'mvn' : 'gradle';
  const build = isMaven ? `${program} --batch-mode package -DskipTests` : `${program} --no-daemon assemble`;
  const folder = isMaven ? 'target' : 'build/libs';
  return `FROM ${library}/${image} AS build
WORKDIR /src
COPY . .
# The largest archive is the one that contains its libraries.
RUN ${build} \\
 && cp "$(ls -S ${folder}/*.jar | head -n 1)" /app.jar

FROM ${library}/eclipse-temurin:${release}-jre
COPY --from=build /app.jar /app.jar
ENV PORT=${port}
USER nobody
EXPOSE ${port}
CMD ["java", "-jar", "/app.jar"]`;
}

function phpFile({ version, port, facts: { root = '', hasComposer } }: Detected): string {
  const install =
    hasComposer === 'true'
      ? `COPY --from=${library}/composer:2 /usr/bin/composer /usr/bin/composer
RUN apt-get update && apt-get install -y --no-install-recommends git unzip && rm -rf /var/lib/apt/lists/* \\
 && composer install --no-dev --no-interaction --optimize-autoloader
`
      : '';
  const folder = root === '' ? '/var/www/html' : `/var/www/html/${root}`;
  return `FROM ${library}/php:${version ?? '8.4'}-apache
WORKDIR /var/www/html
COPY . .
${install}# Apache serves this folder, with the rules of .htaccess files.
RUN sed -ri 's#/var/www/html#${folder}#' /etc/apache2/sites-available/000-default.conf && a2enmod rewrite
EXPOSE ${port}`;
}

function rubyFile({ version, port, facts: { start = '', hasLock } }: Detected): string {
  return `FROM ${library}/ruby:${version ?? '3.4'}-slim
RUN apt-get update && apt-get install -y --no-install-recommends build-essential libyaml-dev git && rm -rf /var/lib/apt/lists/*
WORKDIR /app
# Gems are installed again only when these files change.
COPY Gemfile ${hasLock === 'true' ? 'Gemfile.lock ' : ''}./
RUN bundle install
COPY . .
RUN useradd --create-home app && chown -R app .
USER app
ENV PORT=${port} RACK_ENV=production RAILS_ENV=production RAILS_LOG_TO_STDOUT=1
EXPOSE ${port}
CMD ${command(start)}`;
}

function pagesFile({ facts: { root = '.' } }: Detected): string {
  return `FROM ${library}/nginx:stable-alpine
COPY ${root} /usr/share/nginx/html
EXPOSE 80`;
}

/** Returns a command in the form that receives signals itself. Variables need a shell that replaces them. */
function command(text: string): string {
  if (text.includes('$')) return JSON.stringify(['sh', '-c', `exec ${text}`]).replaceAll(',', ', ');
  return JSON.stringify(text.split(' ')).replaceAll(',', ', ');
}
