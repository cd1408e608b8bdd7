import { expect, test } from 'vitest';
import { detect, exposedPort, type Folder } from './detect.ts';
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
  Go: { 'go.mod': 'module shop\n\ngo 1.24\n', 'go.sum': '', 'cmd/shop/main.go': 'http.ListenAndServe(":9000", nil)\n' },
  'Go with several programs': {
    'go.mod': 'module example.org/shop\n\ngo 1.21.0\n',
    'lib.go': 'package shop\n',
    'examples/main.go': 'package main\n',
    'cmd/migrate/main.go': 'package main\n',
    'cmd/server/main.go': 'package main\n',
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
  'Rust workspace that needs OpenSSL': {
    'Cargo.toml': '[workspace]\nmembers = ["crates/*"]\n',
    'Cargo.lock': 'name = "openssl-sys"\n',
    'crates/cli/src/main.rs': '',
    'crates/server/Cargo.toml': '[package]\nauthors = ["a"]\nname = "shop-server"\n\n[dependencies]\nname = "x"\n',
    'crates/server/src/main.rs': '',
  },
  Rust: { 'Cargo.toml': '[package]\nname = "shop"\n', 'Cargo.lock': '', 'src/main.rs': 'bind("0.0.0.0:3030")\n' },
  'Java with Maven': { 'pom.xml': '<java.version>21</java.version>', mvnw: '' },
  'Java with Gradle': { 'build.gradle.kts': 'JavaLanguageVersion.of(17)' },
  'Java with Spring and several modules': {
    'pom.xml': '<modules><module>web</module></modules><java.version>1.8</java.version>',
    'web/pom.xml': '<artifactId>spring-boot-maven-plugin</artifactId>',
  },
  'Java with Quarkus': { 'pom.xml': '<groupId>io.quarkus</groupId><maven.compiler.release>22</maven.compiler.release>' },
  'Java with a Gradle application in a project of its own': {
    'settings.gradle.kts': 'include("app")',
    gradlew: '',
    'app/build.gradle.kts': 'plugins { application }\nkotlin { jvmToolchain(25) }\n',
  },
  'PHP with Laravel': {
    'composer.json': '{"require": {"php": "^8.2", "ext-gd": "*", "ext-mbstring": "*"}}',
    'composer.lock': '',
    artisan: '',
    'public/index.php': '',
    'package.json': '{"scripts": {"build": "vite build", "dev": "vite"}}',
    'package-lock.json': '',
  },
  'PHP with Composer': { 'composer.json': '{"require": {"php": "^8.3"}}', 'composer.lock': '', 'public/index.php': '' },
  PHP: { 'index.php': '' },
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
  expect(found).not.toBeNull();
  if (found !== null) expect(dockerignoreFor(found)).toMatch(/^\.git\n\.env\.local\n\.env\.\*\.local\n/);
});

test('a word of the start command keeps its commas', async () => {
  const found = await detect(folder({ 'package.json': '{"scripts": {"start": "node server.js --hosts=a,b"}}' }));
  expect(found === null ? '' : dockerfileFor(found)).toContain('CMD ["node", "server.js", "--hosts=a,b"]');
});

test('a folder of no known kind is told apart', async () => {
  expect(await detect(folder({ 'notes.txt': '' }))).toBeNull();
  expect(await detect(folder({ 'package.json': '{"name": "library"}' }))).toBeNull();
});

test('a Dockerfile says its port, unless that is a variable', () => {
  expect(exposedPort('FROM scratch\nEXPOSE 8080/tcp\n')).toBe(8080);
  expect(exposedPort('EXPOSE $PORT\n')).toBeNull();
});
