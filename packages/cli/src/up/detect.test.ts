import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { detect, exposedPort, findPort, isPages, openFolder, type Folder } from './detect.ts';
import { dockerfileFor, dockerignoreFor } from './dockerfile.ts';

/** A folder with these files. */
const folder = (files: Readonly<Record<string, string>>): Folder => ({
  read: (name) => Promise.resolve(files[name] ?? null),
  list: () => Promise.resolve(Object.keys(files)),
});

const programs: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Node with a lock file and a build': {
    'package.json': '{"scripts": {"start": "node dist/server.js", "build": "tsc"}, "engines": {"node": ">=22"}}',
    'package-lock.json': '{}',
    'src/server.ts': "import http from 'node:http';\nhttp.createServer().listen(8080);\n",
  },
  'Node without a build, with Yarn': {
    'package.json': '{"scripts": {"start": "next start", "prebuild": ""}}',
    'yarn.lock': '',
    'server.js': 'http.createServer().listen(process.env.PORT ?? 3001);\n',
  },
  'Node with a script of the installation': {
    'package.json': '{"main": "app.js", "scripts": {"prepare": "husky"}}',
    'package-lock.json': '{}',
    'app.js': '',
  },
  'Node with a start script for a shell, and Yarn 4': {
    'package.json': '{"scripts": {"start": "A=1 node server.js && true", "build": "tsc"}, "packageManager": "yarn@4.9.0"}',
    'yarn.lock': '',
  },
  'Node pages without a server': {
    'package.json': '{"scripts": {"build": "vite build"}}',
    'pnpm-lock.yaml': '',
    'index.html': '',
  },
  'Python with FastAPI': {
    'requirements.txt': 'fastapi\n',
    'main.py': 'from fastapi import FastAPI\n\napi = FastAPI()\n',
    '.python-version': '3.12\n',
  },
  'Python with Flask': { 'pyproject.toml': 'requires-python = ">=3.11"\n', 'app.py': 'app = Flask(__name__)\n' },
  'Python with uv': { 'pyproject.toml': '', 'uv.lock': '', 'main.py': '' },
  'Python with Poetry': { 'pyproject.toml': '', 'poetry.lock': '', 'main.py': '' },
  'Python with Pipenv': { Pipfile: '', 'Pipfile.lock': '', 'main.py': '' },
  Go: {
    'go.mod': 'module shop\n\ngo 1.24\n',
    'go.sum': '',
    'cmd/shop/main.go': 'package main\nhttp.ListenAndServe(":9000", nil)\n',
  },
  'Go with several programs': {
    'go.mod': 'module example.org/shop\n\ngo 1.21.0\n',
    'lib.go': 'package shop\n',
    'examples/main.go': 'package main\n',
    'cmd/migrate/main.go': 'package main\n',
    'cmd/server/main.go': 'package main\n',
  },
  'Go with a generator, another module and C': {
    'go.mod': 'module example.org/acme/store/v2\n\ngo 1.24\n',
    'gen.go': '//go:build ignore\n\npackage main\n',
    'tools/go.mod': 'module tools\n',
    'tools/server/main.go': 'package main\n',
    'cmd/migrate/main.go': 'package main\n',
    'cmd/stored/run.go': 'package main\n\nimport "C"\n\nvar s = http.Server{Addr: ":9191"}\nvar err = s.ListenAndServe()\n',
  },
  'Rust library with programs': {
    'Cargo.toml': '[package]\nname = "shop"\n',
    'src/lib.rs': '',
    'src/bin/import.rs': '',
    'src/bin/web.rs': '',
  },
  'Go workspace, with C and files that it reads': {
    'go.work': 'go 1.22\n\ntoolchain go1.23.4\n\nuse ./tools\nuse ./server\n',
    'go.mod': 'module shop\n\nrequire github.com/mattn/go-sqlite3 v1.14.24\n',
    'tools/main.go': 'package main\n',
    'server/main.go': 'package main\n',
    'templates/index.html': '',
    'static/site.css': '',
    '.gitignore': '/static/\n',
  },
  'Rust with vendored crates, several programs and Rocket': {
    'Cargo.toml':
      '[package]\nname = "shop"\n\n[dependencies]\nrocket = "0.5"\n\n[[bin]]\nname = "import"\n\n[[bin]]\nname = "shop-server"\npath = "src/main.rs"\n',
    '.cargo/config.toml':
      '[source.crates-io]\nreplace-with = "vendored-sources"\n\n[build]\ntarget = "x86_64-unknown-linux-gnu"\n',
    'src/main.rs': 'let address = SocketAddr::from(([0, 0, 0, 0], 3131));\n',
  },
  'Rust workspace that needs OpenSSL': {
    'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\n',
    'Cargo.lock': 'name = "openssl-sys"\n',
    'crates/cli/Cargo.toml': '[package]\nname = "cli"\n',
    'crates/cli/src/main.rs': '',
    'crates/server/Cargo.toml': '[package]\nauthors = ["a"]\nname = "shop-server"\n\n[dependencies]\nname = "x"\n',
    'crates/server/src/main.rs': '',
  },
  Rust: { 'Cargo.toml': '[package]\nname = "shop"\n', 'Cargo.lock': '', 'src/main.rs': 'bind("0.0.0.0:3030")\n' },
  'Java with Maven': {
    'pom.xml': '<java.version>21</java.version><artifactId>maven-shade-plugin</artifactId>',
    mvnw: '',
    '.mvn/wrapper/maven-wrapper.properties': '',
  },
  'Java with Maven and no plugin for an archive with libraries': {
    'pom.xml': '<maven.compiler.release>21</maven.compiler.release>',
    'src/main/java/com/example/Tool.java':
      'package com.example;\npublic class Tool {\n  public static void main(String[] a) {}\n}\n',
    'src/main/java/com/example/App.java':
      'package com.example;\npublic class App {\n  public static void main(String... a) { bind(new InetSocketAddress(7171)); }\n}\n',
  },
  'Java with Gradle': { 'build.gradle.kts': 'JavaLanguageVersion.of(17)' },
  'Java with Spring and several modules': {
    'pom.xml': '<modules><module>web</module></modules><java.version>1.8</java.version>',
    'web/pom.xml': '<artifactId>spring-boot-maven-plugin</artifactId>',
  },
  'Java with Quarkus': { 'pom.xml': '<groupId>io.quarkus</groupId><maven.compiler.release>22</maven.compiler.release>' },
  'Java with a Gradle application in a project of its own': {
    'settings.gradle.kts': 'include("app")',
    gradlew: '',
    'gradle/wrapper/gradle-wrapper.jar': '',
    'gradle/wrapper/gradle-wrapper.properties': 'distributionUrl=https://services.example.org/gradle-9.1.0-bin.zip\n',
    'app/build.gradle.kts': 'plugins { application }\nkotlin { jvmToolchain(25) }\n',
  },
  'PHP with Laravel': {
    'composer.json': '{"require": {"php": "^8.2", "ext-gd": "*", "ext-mbstring": "*"}}',
    'composer.lock': '',
    artisan: '',
    'public/index.php': '',
    'public/.htaccess': '',
    'package.json': '{"scripts": {"build": "vite build", "dev": "vite"}}',
    'package-lock.json': '',
  },
  'PHP with Composer': {
    'composer.json': '{"require": {"php": "^8.3"}}',
    'composer.lock': '',
    'public/index.php': '',
    'public/.htaccess': '',
  },
  'PHP without a page for each path': {
    'composer.json': '{"require": {"php": ">=8.1"}, "require-dev": {"ext-xdebug": "*"}}',
    'web/index.php': '',
  },
  PHP: { 'index.php': '' },
  'PHP with a database': { 'index.php': '<?php $db = new mysqli("db", "shop", getenv("PASSWORD"));\n' },
  Ruby: { Gemfile: 'ruby "3.3.1"\n', 'Gemfile.lock': '', 'config.ru': '' },
  'Ruby on Rails': {
    Gemfile: 'gem "rails"\ngem "pg"\ngem "propshaft"\n',
    'Gemfile.lock': '    puma (6.4.2)\n',
    '.ruby-version': 'ruby-3.3.6\n',
    'bin/rails': '',
    'config.ru': '',
    'package.json': '{"scripts": {"build": "esbuild"}}',
    'yarn.lock': '',
  },
  'Ruby with Puma': { Gemfile: 'ruby "~> 3.2"\ngem "sinatra"\ngem "puma"\n', 'config.ru': '' },
  'Ruby with packed gems and a lock file of a Mac': {
    Gemfile: 'gem "sinatra"\n',
    'Gemfile.lock': 'GEM\n  specs:\n    sinatra (4.1.1)\n\nPLATFORMS\n  arm64-darwin-24\n\nDEPENDENCIES\n  sinatra\n',
    'vendor/cache/sinatra-4.1.1.gem': '',
    'app.rb': 'set :port, 4568\n',
  },
  'static files': { 'index.html': '<!doctype html>' },
};

test('each kind of folder gets its Dockerfile', async () => {
  const written: string[] = [];
  for (const [name, files] of Object.entries(programs)) {
    const found = await detect(folder(files));
    if (found === null) throw new Error(`${name} was not recognized`);
    const { language, version, port, portFrom } = found;
    written.push(`# ${name}: ${language} ${version ?? '-'}, port ${port} ${portFrom ?? ''}`.trimEnd(), dockerfileFor(found));
    expect(dockerignoreFor(found)).toMatch(/^\.git\n\.env\n/);
  }
  await expect(written.join('\n')).toMatchFileSnapshot('./dockerfiles.txt');
});

test('Symfony keeps the .env without which it does not start; secrets are in others', async () => {
  const files = { 'composer.json': '{"require": {"symfony/framework-bundle": "^7"}}', 'public/index.php': '' };
  const found = await detect(folder(files));
  if (found === null) throw new Error('Symfony was not recognized');
  expect(dockerignoreFor(found)).toMatch(/^\.git\n\.env\.local\n\.env\.\*\.local\n/);
});

const fileOf = async (files: Readonly<Record<string, string>>): Promise<string> => {
  const found = await detect(folder(files));
  return found === null ? '' : dockerfileFor(found);
};

test('what npm wrote into package.json is no program: the folder is of its other language', async () => {
  const written = { 'package.json': '{"main": "index.js", "scripts": {"build": "vite build"}}' };
  expect(await detect(folder({ ...written, 'go.mod': 'module a\n', 'main.go': 'package main\n' }))).toMatchObject({
    language: 'Go',
  });
  // A build makes the file of a program in TypeScript.
  expect(await detect(folder(written))).toMatchObject({ language: 'Node', facts: { start: 'node index.js' } });
  expect(await detect(folder({ 'package.json': '{"main": "index.js"}' }))).toBeNull();
  // Files in such a folder are not listed.
  expect(await detect(folder({ 'package.json': '{"main": "dist/index.js"}' }))).toMatchObject({ language: 'Node' });
});

test.each([
  ['settings of npm', '.npmrc', '', 'COPY package.json package-lock.json .npmrc ./\nRUN npm ci'],
  ['workspaces', 'packages/a/package.json', ', "workspaces": ["packages/*"]', 'COPY --chown=node . .\nRUN npm ci'],
  ['a package in a folder', 'a/package.json', ', "dependencies": {"a": "file:./a"}', 'COPY --chown=node . .\nRUN npm ci'],
])('Node.js with %s has what its installation reads', async (_name, file, json, lines) => {
  const content = `{"scripts": {"start": "node server.js"}${json}}`;
  expect(await fileOf({ 'package.json': content, 'package-lock.json': '', 'server.js': '', [file]: '' })).toContain(lines);
});

test.each([
  ['24', 'RUN corepack enable && pnpm install'],
  ['25', 'RUN npm install --global corepack && corepack enable && pnpm install'],
])('Node.js %s has the package manager that the lock file needs', async (node, lines) => {
  const content = `{"engines": {"node": "${node}"}, "scripts": {"start": "node server.js"}}`;
  expect(await fileOf({ 'package.json': content, 'pnpm-lock.yaml': '', 'server.js': '' })).toContain(lines);
});

test('Python has what its requirements name, and a version that they allow', async () => {
  const alone = 'COPY requirements.txt ./\n';
  expect(await fileOf({ 'requirements.txt': 'flask==3.1\n-i https://pypi.example.org/simple\n', 'main.py': '' })).toContain(
    alone,
  );
  for (const line of ['-r base.txt', '-e .', '--constraint versions.txt', './lib', 'lib @ file:lib'])
    expect(await fileOf({ 'requirements.txt': `flask\n${line}\n`, 'main.py': '' })).not.toContain(alone);
  const poetry = '[tool.poetry.dependencies]\npython = ">=3.10,<3.12"\n';
  expect(await fileOf({ 'pyproject.toml': poetry, 'poetry.lock': '', 'main.py': '' })).toContain('/python:3.10-slim');
  // A tool that checks types has an own version.
  const tool = { 'pyproject.toml': '[tool.mypy]\npython_version = "3.9"\n', 'requirements.txt': '', 'main.py': '' };
  expect(await fileOf(tool)).toContain('/python:3.13-slim');
  const pipfile = '[requires]\npython_version = "3.11"\n';
  expect(await fileOf({ Pipfile: pipfile, 'Pipfile.lock': '', 'main.py': '' })).toContain('/python:3.11-slim');
});

test('pages have the port of their web server, which PORT does not change; programs take another', async () => {
  const pagesIn = async (files: Readonly<Record<string, string>>) => {
    const found = await detect(folder(files));
    return found === null ? null : [isPages(found), found.port];
  };
  expect(await pagesIn({ 'index.html': '' })).toEqual([true, 8080]);
  expect(await pagesIn({ 'package.json': '{"scripts": {"build": "vite build"}}' })).toEqual([true, 8080]);
  expect(await pagesIn({ 'index.php': '' })).toEqual([false, 8080]);
});

test('PHP in the folder itself does not serve its Dockerfile', async () => {
  const ignored = async (page: string): Promise<string> => {
    const found = await detect(folder({ [page]: '' }));
    return found === null ? '' : dockerignoreFor(found);
  };
  expect(await ignored('index.php')).toContain('\nDockerfile\n');
  expect(await ignored('public/index.php')).not.toContain('Dockerfile');
});

test('a word of the start command keeps its commas', async () => {
  const found = await detect(folder({ 'package.json': '{"scripts": {"start": "node server.js --hosts=a,b"}}' }));
  expect(found === null ? '' : dockerfileFor(found)).toContain('CMD ["node", "server.js", "--hosts=a,b"]');
});

test('the port of the program is taken, not that of a database or of another program', async () => {
  const files = {
    'go.mod': 'module shop\n',
    'compose.yaml': 'ports: ["127.0.0.1:8888:80"]\n',
    'config.yaml': 'database: postgres://localhost:5432/shop\n',
    'cmd/admin/main.go': 'package main\n\nvar err = http.ListenAndServe(":9000", nil)\n',
    'cmd/web/main.go': 'package main\n\nvar err = http.ListenAndServe(":9001", nil)\n',
  };
  expect(await detect(folder(files))).toMatchObject({ port: 9001, portFrom: 'cmd/web/main.go:3' });
});

test.each([
  ['src/main.rs', 'let port = env::var("PORT").unwrap_or_else(|_| "3131".to_string());', 3131],
  ['src/main.rs', 'HttpServer::new(app).bind(("0.0.0.0", 8081))?', 8081],
  ['config/puma.rb', 'port ENV.fetch("PORT") { 3001 }', 3001],
  ['main.go', 'listener, err := net.Listen("tcp", ":9191")', 9191],
  ['App.java', 'int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "7171"));', 7171],
])('the port of %s is read from %s', async (name, line, port) => {
  expect(await findPort(folder({ [name]: line }), [name])).toEqual({ port, from: `${name}:1` });
});

test.each([
  ['^8.2', '8.2'],
  ['^7.1.3', '7.4'],
  ['^7.4 || ^8.1', '8.1'],
  ['>=5.6', '8.4'],
  ['>=8.1 <8.4', '8.1'],
  ['*', '8.4'],
])('Composer wants PHP %s: the image has PHP %s', async (constraint, version) => {
  const found = await detect(
    folder({ 'composer.json': JSON.stringify({ require: { php: constraint } }), 'public/index.php': '' }),
  );
  expect(found === null ? '' : dockerfileFor(found)).toContain(`/php:${version}-apache\n`);
});

test.each([
  ['7.6.1', '17'],
  ['6.9', '11'],
  ['8.14', null],
])('the wrapper of Gradle %s runs on Java %s, if nothing else is named', async (gradle, version) => {
  const wrapper = { gradlew: '', 'gradle/wrapper/gradle-wrapper.jar': '' };
  const properties = `distributionUrl=https\\://services.example.org/distributions/gradle-${gradle}-bin.zip\n`;
  const files = { 'build.gradle': '', ...wrapper, 'gradle/wrapper/gradle-wrapper.properties': properties };
  expect(await detect(folder(files))).toMatchObject({ version, facts: { hasWrapper: 'true' } });
});

test('files that git ignores are not read, as they are not sent', async () => {
  const root = await mkdtemp(path.join(tmpdir(), 'davit-up-'));
  execFileSync('git', ['init', '--quiet', root]);
  await writeFile(path.join(root, '.gitignore'), 'Cargo.lock\n/notes/\n');
  for (const name of ['Cargo.toml', 'Cargo.lock', 'main.rs']) await writeFile(path.join(root, name), '');
  for (const name of ['notes', 'vendor/cache', 'vendor/other']) {
    await mkdir(path.join(root, name), { recursive: true });
    await writeFile(path.join(root, name, 'a'), '');
  }
  expect(await openFolder(root).list()).toEqual(['.gitignore', 'Cargo.toml', 'main.rs', 'vendor/cache/a']);
  await rm(root, { recursive: true });
});

test('a folder of no known kind is told apart', async () => {
  expect(await detect(folder({ 'composer.json': '{"name": "acme/library"}', 'src/Shop.php': '' }))).toBeNull();
  expect(await detect(folder({ 'go.mod': 'module library\n', 'library.go': 'package library\n' }))).toBeNull();
  expect(await detect(folder({ 'notes.txt': '' }))).toBeNull();
  expect(await detect(folder({ 'package.json': '{"name": "library"}' }))).toBeNull();
});

test('a Dockerfile says its port, unless that is a variable', () => {
  expect(exposedPort('FROM scratch\nEXPOSE 8080/tcp\n')).toBe(8080);
  expect(exposedPort('EXPOSE $PORT\n')).toBeNull();
});
