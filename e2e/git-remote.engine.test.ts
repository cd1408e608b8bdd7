import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { scratchFolder, TestRepository } from '../packages/drivers/src/source/testing.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { token } from './support/davit.ts';
import { busybox, TestSetup } from './support/setup.ts';

const shop = {
  Dockerfile: `FROM ${busybox}\nCOPY www /www\nCMD ["sh", "-c", "exec httpd -f -p 3000 -h /www"]\n`,
  'www/index.html': 'version one\n',
};
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

describe.each(testEngineKinds())('git push to Davit on %s', (kind) => {
  let setup: TestSetup;
  let folder: ReturnType<typeof scratchFolder>;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_READY_TIMEOUT_SECONDS: '10' });
    folder = scratchFolder();
  });
  afterAll(async () => {
    folder?.remove();
    await setup?.close();
  });

  /** Runs git with the repository of an application, and returns the exit code with what git prints. */
  function push(at: string, name = 'pushed', words = ['push']): Promise<{ readonly code: number; readonly text: string }> {
    const address = `${setup.davit.url.replace('//', `//git:${token}@`)}/git/dock/production/${name}.git`;
    const env = { PATH: process.env['PATH'] ?? '', HOME: folder.path, GIT_CONFIG_NOSYSTEM: '1', GIT_TERMINAL_PROMPT: '0' };
    return new Promise((resolve) => {
      execFile('git', [...words, address, 'main'], { cwd: at, env, timeout: 120_000 }, (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), text: `${stdout}${stderr}` }),
      );
    });
  }

  test('deploys a push that was stored when the server was killed', async () => {
    const id = await setup.application('killed', 'davit:', { ports: [port], memory: 64 });
    const path = join(folder.path, 'killed');
    new TestRepository(path).commit('first', shop);
    const { git_repository } = await setup.davit.client.call('getApplication', { params: { applicationId: id } });
    const hooks = join(setup.davit.folder, 'git', `${git_repository?.url.slice('davit:'.length)}.git`, 'hooks');
    // The first read makes the repository.
    expect(await push(path, 'killed', ['ls-remote'])).toMatchObject({ code: 0 });
    const script = `#!/bin/sh\n[ "$1" = committed ] || exit 0\nrm -f "$0"\nkill -9 ${setup.davit.pid} 0\n`;
    await writeFile(join(hooks, 'reference-transaction'), script, { mode: 0o700 });
    expect((await push(path, 'killed')).code).not.toBe(0);
    await setup.davit.exited();
    await setup.davit.serve();
    await setup.reaches(id, 'DEPLOYED');
    expect(await setup.fetch(await setup.link(id))).toEqual({ status: 200, body: 'version one\n' });
    expect(await setup.history(id)).toHaveLength(1);
  }, 240_000);

  test('builds what was pushed, explains a failed build, and deploys the next push', async () => {
    const id = await setup.application('pushed', 'davit:', { ports: [port], memory: 64 });
    const path = join(folder.path, 'pushed');
    const repository = new TestRepository(path);
    repository.commit('first', shop);
    const first = await push(path);
    expect(first).toMatchObject({ code: 0, text: expect.stringContaining('remote: pushed is deployed.') });
    expect(first.text).toMatch(/^remote: .*COPY www/m);
    const link = await setup.link(id);
    expect(await setup.fetch(link)).toEqual({ status: 200, body: 'version one\n' });

    repository.commit('broken', { Dockerfile: `FROM ${busybox}\nRUN echo no such module && exit 3\n` });
    const broken = await push(path);
    expect(broken).toMatchObject({ code: 0, text: expect.stringContaining('remote: pushed was not deployed') });
    expect(broken.text).toMatch(/^remote: What to do: /m);
    expect(broken.text).toContain('no such module');
    expect(await setup.fetch(link)).toEqual({ status: 200, body: 'version one\n' });

    repository.commit('second', { ...shop, 'www/index.html': 'version two\n' });
    expect(await push(path)).toMatchObject({ code: 0, text: expect.stringContaining('remote: pushed is deployed.') });
    expect(await setup.fetch(link)).toEqual({ status: 200, body: 'version two\n' });
    const { results } = await setup.davit.client.call('listApplicationCommit', { params: { applicationId: id } });
    expect(results.map(({ message }) => message)).toEqual(['second', 'broken', 'first']);
  }, 240_000);
});
