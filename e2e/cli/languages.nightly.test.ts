import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { testEngineKinds } from '@davit/testkit/engines';
import { canMakeBases, makeLanguageBases } from '@davit/testkit/language-bases';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { token } from '../support/davit.ts';
import { TestSetup } from '../support/setup.ts';
import { programs } from './language-programs.ts';
import { buildCommandLine, openTerminal, type Terminal } from './terminal.ts';

/*
 * Programs of each language become addresses by the Dockerfiles that `davit up` writes, from base images that are made
 * of Debian's packages. `DAVIT_TEST_LANGUAGES=Go,PHP` chooses languages.
 */

/** The floor on an idle machine is 10 s beyond the build. The bound is wide, as other tests run at the same time. */
const beyondBuildSeconds = 60;
const wanted = process.env['DAVIT_TEST_LANGUAGES']?.split(',');

describe.skipIf(!canMakeBases()).each(testEngineKinds())('davit up of each language on %s', (kind) => {
  let setup: TestSetup;
  let terminal: Terminal;
  beforeAll(async () => {
    buildCommandLine();
    setup = await TestSetup.open(kind, { DAVIT_READY_TIMEOUT_SECONDS: '60' });
    terminal = await openTerminal();
    await terminal.run(['login', setup.davit.url, '--token-stdin'], { stdin: token });
  }, 240_000);
  afterAll(async () => {
    await terminal?.close();
    await setup?.close();
  }, 240_000);

  /** Deploys a folder, and returns its address. */
  async function up(folder: string, ...words: string[]): Promise<string> {
    const begun = performance.now();
    const ended = await terminal.run(['up', ...words], { folder, environment: { DAVIT_ORGANIZATION: 'Shipyard' } });
    expect(ended).toMatchObject({ code: 0, out: expect.stringMatching(/^http:/) });
    const [, minutes = '0', seconds = '0'] = /✓ built (?:(\d+):)?([\d.]+)/.exec(ended.err) ?? [];
    const built = Number(minutes) * 60 + Number(seconds);
    const beyondBuild = (performance.now() - begun) / 1000 - built;
    expect(beyondBuild).toBeLessThan(beyondBuildSeconds);
    if (process.env['DAVIT_TEST_BUDGETS'] !== undefined) {
      const figures = `built in ${built.toFixed(0)} s, ${beyondBuild.toFixed(1)} s beyond`;
      process.stderr.write(`${kind} up ${path.basename(folder)}: ${figures}\n`);
    }
    return ended.out.trim();
  }

  /** Returns the response of a folder's service, once only containers of the latest deployment are left. */
  async function seen(folder: string, address: string): Promise<{ status: number; body: string; user: string }> {
    const record: { readonly id: string } = JSON.parse((await terminal.run(['api', 'getApplication'], { folder })).out);
    await setup.formerGone(record.id);
    const [container] = await setup.containers(record.id);
    const { Config } = await setup.docker.getContainer(container?.Id ?? '').inspect();
    return { ...(await setup.fetch(address)), user: Config.User };
  }

  test.for(programs.filter(({ language }) => wanted?.includes(language) ?? true))(
    '$name is built, answers, and again with a changed line',
    async ({ language, name, files, user, changes: [file, from, to] }) => {
      await makeLanguageBases(setup.docker, language);
      const folder = path.join(terminal.home, name.toLowerCase().replaceAll(/\W+/g, '-'));
      for (const [at, text] of Object.entries(files)) {
        await mkdir(path.dirname(path.join(folder, at)), { recursive: true });
        await writeFile(path.join(folder, at), text);
      }
      const address = await up(folder, '--yes');
      expect(await seen(folder, address)).toEqual({ status: 200, body: from, user });
      const changed = path.join(folder, file);
      await writeFile(changed, (await readFile(changed, 'utf8')).replace(from, to));
      expect(await seen(folder, await up(folder))).toEqual({ status: 200, body: to, user });
    },
  );
});
