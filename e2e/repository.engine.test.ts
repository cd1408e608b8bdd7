import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, node, TestSetup } from './support/setup.ts';

/**
 * A Dockerfile as public repositories have them: of one program among several, with the whole repository as its
 * context, a syntax image, mounts, a here-document, a copy by link, a base in an argument, and a stage for developers
 * that cannot be built here.
 */
const dockerfile = `# syntax=docker/dockerfile:1.4.davit
ARG BASE=${node}
FROM ${busybox} AS assets
RUN --mount=type=bind,source=vendor/words,target=/words --mount=type=cache,id=words,target=/kept <<EOF
set -e
cat /words/word > /word
date >> /kept/builds
EOF

FROM \${BASE} AS live
COPY --link --from=assets /word /word
COPY services/web/server.mjs /server.mjs
EXPOSE 3000
CMD ["node", "/server.mjs"]

FROM live AS developers
COPY --from=davit-no-such-image:1 / /
RUN <<EOF
exit 1
EOF
`;

/** A program that ignores SIGTERM, prints much and leaves orphans behind. */
const server = `
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
if (process.argv[2] === 'orphan') setTimeout(() => process.exit(), 300);
else if (process.argv[2] === 'parent') spawn(process.execPath, ['/server.mjs', 'orphan'], { detached: true }).unref(), process.exit();
else {
  for (let line = 1; line <= 5000; line += 1) console.log('line ' + line + ' ' + 'x'.repeat(200));
  for (let child = 0; child < 5; child += 1) spawn(process.execPath, ['/server.mjs', 'parent']);
  process.on('SIGTERM', () => console.log('no'));
  const word = readFileSync('/word', 'utf8').trim();
  const processes = () => readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name)).flatMap((id) => {
    try { return [readFileSync('/proc/' + id + '/stat', 'utf8').split(') ').at(-1)[0]]; } catch { return []; }
  });
  createServer((request, response) => {
    if (request.url === '/processes') return response.end(processes().join(''));
    response.end(word + ' one');
  }).listen(3000);
}
`;

const files = {
  'services/web/Dockerfile': dockerfile,
  'services/web/server.mjs': server,
  'services/other/Dockerfile': 'FROM davit-no-such-image:1\n',
};

describe.each(testEngineKinds())('a repository that nobody wrote for Davit, on %s', (kind) => {
  let setup: TestSetup;
  let id: string;
  let address: string;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_TERMINATION_GRACE_SECONDS: '1' });
    await setup.loadNode();
    const words = setup.repository('words', { word: 'ahoy\n' }).repository.git('rev-parse', 'HEAD');
    const { repository, url } = setup.repository('shop', {
      ...files,
      '.gitmodules': '[submodule "words"]\n\tpath = vendor/words\n\turl = git@127.0.0.1:words\n',
    });
    repository.git('update-index', '--add', '--cacheinfo', `160000,${words},vendor/words`);
    repository.git('commit', '--quiet', '--message=with a submodule');
    id = await setup.application('web', url, {
      dockerfile_path: 'services/web/Dockerfile',
      docker_target_build_stage: 'live',
      ports: [{ internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' }],
    });
  });
  afterAll(async () => {
    await setup?.close();
  });

  test('is built as it is, with its submodule and what is newer than the builder', async () => {
    await setup.deploy(id);
    address = await setup.link(id);
    expect(await setup.fetch(address)).toEqual({ status: 200, body: 'ahoy one' });
  });

  test('its orphans are reaped, and its log is whole', async () => {
    // States of processes: Z is one that has exited and that nobody has reaped.
    await eventually(async () => {
      const { body } = await setup.fetch(`${address}/processes`);
      return body.length <= 3 && !body.includes('Z') ? true : undefined;
    }, 'the end of all orphans');
    const params = { applicationId: id };
    const last = await eventually(async () => {
      const { results } = await setup.davit.client.call('listApplicationLog', { params, query: { tail: 20 } });
      const text = JSON.stringify(results);
      return text.includes('line 5000 ') ? text : undefined;
    }, 'the last of 5,000 lines');
    expect(last).toContain('line 4999 ');
  });
});
