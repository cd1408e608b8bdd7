import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { busybox, TestSetup } from './support/setup.ts';

const environments = 20;
const files = (text: string) => ({
  Dockerfile: `FROM ${busybox}\nCOPY index.html /www/index.html\nCMD ["httpd", "-f", "-p", "3000", "-h", "/www"]\n`,
  'index.html': text,
});
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

describe.each(testEngineKinds())('twenty environments on %s', (kind) => {
  let setup: TestSetup;
  beforeAll(async () => {
    setup = await TestSetup.open(kind);
  });
  afterAll(() => setup?.close());

  test('that are deployed at once all end right, each with its own address', async () => {
    const { client } = setup.davit;
    const shops = await Promise.all(
      Array.from({ length: environments }, async (_, index) => {
        const environmentId = await setup.newEnvironment(`shop ${index}`);
        const { url } = setup.repository(`shop-${index}`, files(`shop ${index}\n`));
        const body = {
          name: 'web',
          dockerfile_path: 'Dockerfile',
          git_repository: { url, branch: 'main' },
          memory: 32,
          ports: [port],
        };
        const { id } = await client.call('createApplication', { params: { environmentId }, body: { ...body, healthchecks: {} } });
        return { environmentId, id, text: `shop ${index}\n` };
      }),
    );
    await Promise.all(shops.map(({ environmentId }) => client.call('deployEnvironment', { params: { environmentId } })));
    await Promise.all(shops.map(({ id }) => setup.reaches(id, 'DEPLOYED')));
    const answers = await Promise.all(shops.map(async ({ id }) => (await setup.fetch(await setup.link(id))).body));
    expect(answers).toEqual(shops.map(({ text }) => text));
    const containers = await Promise.all(shops.map(({ id }) => setup.containers(id)));
    expect(containers.map(({ length }) => length)).toEqual(shops.map(() => 1));
  });
});
