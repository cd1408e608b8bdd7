import type { Detected, Language } from './detected.ts';

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

/** Serves files as a user without rights, which the image of the library cannot. */
const pagesServer = 'docker.io/nginxinc/nginx-unprivileged:stable-alpine';

function nodeFile({ version, port, facts }: Detected): string {
  const { install = '', lean = '', prune = '', files = '', build = '', start = '', output } = facts;
  const from = `${library}/node:${version ?? '24'}-slim`;
  const early = (command: string): string =>
    files === ''
      ? `COPY . .\nRUN ${command}\n`
      : `# Packages are installed again only when these files change.\nCOPY ${files} ./\nRUN ${command}\nCOPY . .\n`;
  const building = (...last: readonly string[]): string => {
    const commands = last.filter((one) => one !== '').join(' && ');
    return `FROM ${from} AS build\nWORKDIR /app\n${early(install)}${commands === '' ? '' : `RUN ${commands}\n`}`;
  };
  if (output !== undefined) {
    return `${building(build)}
# Only the built pages are served.
FROM ${pagesServer}
COPY --from=build /app/${output} /usr/share/nginx/html
EXPOSE ${port}`;
  }
  const isOwnTool = !['node', 'npm'].includes(start.split(' ')[0] ?? '');
  const end = `ENV NODE_ENV=production PORT=${port}${isOwnTool ? ' PATH=/app/node_modules/.bin:$PATH' : ''}
USER node
EXPOSE ${port}
CMD ${command(start)}`;
  if (build === '' && lean !== '') {
    return `FROM ${from}\nWORKDIR /app\n${early(lean).replace('COPY . .', 'COPY --chown=node . .')}${end}`;
  }
  return `${building(build, prune)}
# Without what only the build needs.
FROM ${from}
WORKDIR /app
COPY --from=build --chown=node /app ./
${end}`;
}

function pythonFile({ version, port, facts }: Detected): string {
  const { install = '', files = '', start = '', server = '' } = facts;
  const installing = [install, server === '' ? '' : `pip install --no-cache-dir ${server}`]
    .filter((one) => one !== '')
    .join(' && ');
  const run = installing === '' ? '' : `RUN ${installing}\n`;
  const copies =
    files === ''
      ? `COPY --chown=app . .\n${run}`
      : `# Packages are installed again only when these files change.\nCOPY ${files} ./\n${run}COPY --chown=app . .\n`;
  return `FROM ${library}/python:${version ?? '3.13'}-slim
RUN useradd --create-home app
WORKDIR /app
# Output appears in the log at once.
ENV PYTHONUNBUFFERED=1 PORT=${port}
${copies}USER app
EXPOSE ${port}
CMD ${command(start)}`;
}

/** Returns the stage that runs a program that was built in the stage `build`. It needs certificates of authorities. */
function binaryStage(program: string, port: number): string {
  return `FROM ${library}/debian:stable-slim
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build ${program} /usr/local/bin/app
ENV PORT=${port}
USER nobody
EXPOSE ${port}
CMD ["app"]`;
}

function goFile({ version, port, facts: { main = '.', hasSum } }: Detected): string {
  return `FROM ${library}/golang:${version ?? '1.25'} AS build
WORKDIR /src
# Modules are fetched again only when these files change.
COPY go.mod ${hasSum === 'true' ? 'go.sum ' : ''}./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -o /app ${main}

${binaryStage('/app', port)}`;
}

function rustFile({ version, port, facts: { binary = 'app', locked = '' } }: Detected): string {
  return `FROM ${library}/rust:${version ?? '1'}-slim AS build
WORKDIR /src
COPY . .
RUN cargo build --release${locked}

${binaryStage(`/src/target/release/${binary}`, port)}`;
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

function phpFile({ version, port, facts: { root = '', composer = '' } }: Detected): string {
  const steps =
    composer === ''
      ? 'COPY --chown=www-data . .\n'
      : `COPY --from=${library}/composer:2 /usr/bin/composer /usr/bin/composer
RUN apt-get update && apt-get install -y --no-install-recommends git unzip && rm -rf /var/lib/apt/lists/*
ENV COMPOSER_ALLOW_SUPERUSER=1
# Packages are installed again only when these files change.
COPY ${composer} ./
RUN composer install --no-dev --no-interaction --no-scripts --no-autoloader
COPY --chown=www-data . .
RUN composer install --no-dev --no-interaction --optimize-autoloader
`;
  const site = '/etc/apache2/sites-available/000-default.conf';
  const setRoot = root === '' ? '' : ` -e 's#/var/www/html#/var/www/html/${root}#'`;
  return `FROM ${library}/php:${version ?? '8.4'}-apache
# Apache serves the files on this port, with the rules of .htaccess files.
ENV PORT=${port}
RUN sed -ri 's#^Listen 80$#Listen \${PORT}#' /etc/apache2/ports.conf \\
 && sed -ri -e 's#:80>#:\${PORT}>#'${setRoot} ${site} && a2enmod rewrite
WORKDIR /var/www/html
${steps}USER www-data
EXPOSE ${port}`;
}

function rubyFile({ version, port, facts: { start = '', hasLock } }: Detected): string {
  const frozen =
    hasLock === 'true' ? 'ENV BUNDLE_DEPLOYMENT=1 BUNDLE_PATH=/usr/local/bundle BUNDLE_WITHOUT=development:test\n' : '';
  return `FROM ${library}/ruby:${version ?? '3.4'}-slim
RUN apt-get update && apt-get install -y --no-install-recommends build-essential libyaml-dev git && rm -rf /var/lib/apt/lists/*
WORKDIR /app
RUN useradd --create-home app && chown app .
# Gems are installed again only when these files change.
COPY Gemfile ${hasLock === 'true' ? 'Gemfile.lock ' : ''}./
${frozen}RUN bundle install
COPY --chown=app . .
USER app
ENV PORT=${port} RACK_ENV=production RAILS_ENV=production RAILS_LOG_TO_STDOUT=1
EXPOSE ${port}
CMD ${command(start)}`;
}

function pagesFile({ port, facts: { root = '.' } }: Detected): string {
  return `FROM ${pagesServer}
COPY ${root} /usr/share/nginx/html
EXPOSE ${port}`;
}

/** Returns a command in the form that receives signals itself. Variables need a shell that replaces them. */
function command(text: string): string {
  const words = text.includes('$') ? ['sh', '-c', `exec ${text}`] : text.split(' ');
  return `[${words.map((word) => JSON.stringify(word)).join(', ')}]`;
}
