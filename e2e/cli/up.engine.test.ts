import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testEngineKinds } from '@davit/testkit/engines';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadNodeBase, loadPagesBase, loadPythonBase, systemPython } from '../support/base-images.ts';
import { token } from '../support/davit.ts';
import { TestSetup } from '../support/setup.ts';
import { buildCommandLine, openTerminal, type Ended, type Terminal } from './terminal.ts';

/* Folders of code become addresses on real engines, by the Dockerfiles that `davit up` writes. */

/** The floor on an idle machine is 10 s beyond the build. The bound is wide, as other tests run at the same time. */
const beyondBuildSeconds = 60;
const python = systemPython();

describe.each(testEngineKinds())('davit up on %s', (kind) => {
  let setup: TestSetup;
  let terminal: Terminal;
  beforeAll(async () => {
    buildCommandLine();
    setup = await TestSetup.open(kind, { DAVIT_READY_TIMEOUT_SECONDS: '60' });
    terminal = await openTerminal();
    await loadNodeBase(setup.docker);
    await loadPagesBase(setup.docker);
    if (python !== null) await loadPythonBase(setup.docker, python.version, python.library);
    await terminal.run(['login', setup.davit.url, '--token-stdin'], { stdin: token });
  }, 240_000);
  afterAll(async () => {
    await terminal?.close();
    await setup?.close();
  });

  async function folderOf(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    const folder = path.join(terminal.home, name);
    await mkdir(folder);
    for (const [file, text] of Object.entries(files)) await writeFile(path.join(folder, file), text);
    return folder;
  }

  async function up(folder: string, ...words: string[]): Promise<Ended & { readonly beyondBuild: number }> {
    const begun = performance.now();
    const ended = await terminal.run(['up', ...words], { folder, environment: { DAVIT_ORGANIZATION: 'Shipyard' } });
    expect(ended).toMatchObject({ code: 0, out: expect.stringMatching(/^http:/) });
    const [, minutes = '0', seconds = '0'] = /✓ built (?:(\d+):)?([\d.]+)/.exec(ended.err) ?? [];
    const beyondBuild = (performance.now() - begun) / 1000 - Number(minutes) * 60 - Number(seconds);
    expect(beyondBuild).toBeLessThan(beyondBuildSeconds);
    if (process.env['DAVIT_TEST_BUDGETS'] !== undefined) {
      process.stderr.write(`${kind} up ${path.basename(folder)}: ${beyondBuild.toFixed(1)} s beyond the build\n`);
    }
    return { ...ended, beyondBuild };
  }

  /** Returns what the address of a folder's service serves, and the user of its only container. */
  async function seen(folder: string, address: string): Promise<{ body: string; user: string; container: string }> {
    const record: { readonly id: string } = JSON.parse((await terminal.run(['api', 'getApplication'], { folder })).out);
    await setup.formerGone(record.id);
    const [container] = await setup.containers(record.id);
    const id = container?.Id ?? '';
    const { Config } = await setup.docker.getContainer(id).inspect();
    return { body: (await setup.fetch(address.trim())).body, user: Config.User, container: id };
  }

  test('a Node.js program with a build is built, runs without root, and again only what changed is deployed', async () => {
    const folder = await folderOf('shop', {
      'package.json': JSON.stringify({
        name: 'shop',
        version: '1.0.0',
        engines: { node: '24' },
        scripts: { build: 'node build.js', start: 'node server.js' },
      }),
      'package-lock.json': JSON.stringify({
        name: 'shop',
        version: '1.0.0',
        lockfileVersion: 3,
        packages: { '': { name: 'shop', version: '1.0.0' } },
      }),
      'build.js': "require('node:fs').writeFileSync('built.txt', 'built');\n",
      'server.js': `const text = require('node:fs').readFileSync('built.txt', 'utf8');
require('node:http').createServer((_, response) => response.end(text + ' one')).listen(process.env.PORT ?? 3456);\n`,
    });
    const first = await up(folder, '--yes');
    expect(first.err).toContain('(server.js:2 listens there)');
    expect(await readFile(path.join(folder, 'Dockerfile'), 'utf8')).toContain('npm prune --omit=dev');
    expect(await readFile(path.join(folder, '.dockerignore'), 'utf8')).toContain('node_modules');
    const before = await seen(folder, first.out);
    expect(before).toMatchObject({ body: 'built one', user: 'node' });
    const same = await up(folder);
    expect(same.err).toContain('No file changed');
    expect(await seen(folder, same.out)).toEqual(before);
    const server = path.join(folder, 'server.js');
    await writeFile(server, (await readFile(server, 'utf8')).replace(' one', ' two'));
    const second = await up(folder);
    expect(second.err).toContain('1 file changed since the last deployment');
    expect(await seen(folder, second.out)).toMatchObject({ body: 'built two', user: 'node' });
  }, 300_000);

  test('up and logs -f go on when the server is killed and restarted, and lose and repeat no line', async () => {
    const folder = path.join(terminal.home, 'shop');
    const server = path.join(folder, 'server.js');
    const prints = 'let line = 0;\nsetInterval(() => console.log(`line ${(line += 1)} of shop`), 100);\n';
    await writeFile(server, `${await readFile(server, 'utf8')}${prints}`);
    setup.davit.order('build:before', 'kill');
    const deploying = terminal.start(['up'], { folder });
    await setup.davit.exited();
    await setup.davit.serve();
    const deployed = await deploying.ended;
    expect(deployed).toMatchObject({ code: 0, out: expect.stringMatching(/^http:/) });
    expect(deployed.err.match(/✓ built/g)).toHaveLength(1);

    const following = terminal.start(['logs', '-f', '--plain', '--lines', '1000', '--grep', 'of shop'], { folder });
    const numbers = (): number[] => [...following.out().matchAll(/^line (\d+) of shop$/gm)].map(([, number]) => Number(number));
    const more = async (): Promise<void> => {
      const before = numbers().length;
      await expect.poll(() => numbers().length, { timeout: 60_000 }).toBeGreaterThan(before + 10);
    };
    await more();
    await setup.davit.kill();
    await setup.davit.serve();
    await more();
    following.kill('SIGINT');
    const { code, err } = await following.ended;
    expect({ code, err }).toEqual({ code: 130, err: expect.stringContaining('nothing missed') });
    const all = numbers();
    expect(all).toEqual(all.map((_, index) => (all[0] ?? 0) + index));
  }, 300_000);

  test('a folder of pages is served without root', async () => {
    const folder = await folderOf('pages', { 'index.html': 'pages\n' });
    const { out } = await up(folder, '--yes');
    expect(await seen(folder, out)).toMatchObject({ body: 'pages\n', user: '101' });
  }, 300_000);

  // Other languages have no base image that this machine could make: their Dockerfiles are compared with a snapshot.
  test.skipIf(python === null)(
    'a Python program runs without root, with its output in the log',
    async () => {
      const folder = await folderOf('clock', {
        '.python-version': `${python?.version}\n`,
        'main.py': `import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        print("answered")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"python")
http.server.HTTPServer(("", int(os.environ.get("PORT", "8000"))), Handler).serve_forever()
`,
      });
      const { out } = await up(folder, '--yes');
      expect(await seen(folder, out)).toMatchObject({ body: 'python', user: 'app' });
      await expect
        .poll(async () => (await terminal.run(['logs', '--plain', '--grep', 'answered'], { folder })).out, { timeout: 60_000 })
        .toContain('answered');
    },
    300_000,
  );
});
