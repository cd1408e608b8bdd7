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
  Rust: { 'Cargo.toml': '[package]\nname = "shop"\n', 'Cargo.lock': '', 'src/main.rs': 'bind("0.0.0.0:3030")\n' },
  'Java with Maven': { 'pom.xml': '<java.version>21</java.version>', mvnw: '' },
  'Java with Gradle': { 'build.gradle.kts': 'JavaLanguageVersion.of(17)' },
  'PHP with Composer': { 'composer.json': '{"require": {"php": "^8.3"}}', 'composer.lock': '', 'public/index.php': '' },
  PHP: { 'index.php': '' },
  Ruby: { Gemfile: 'ruby "3.3.1"\n', 'Gemfile.lock': '', 'config.ru': '' },
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
