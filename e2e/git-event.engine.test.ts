import { createHmac, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TestRepository } from '../packages/drivers/src/source/testing.ts';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

/** An application that responds with the text of its commit. */
const shop = {
  Dockerfile: `FROM ${busybox}\nCOPY www /www\nCMD ["sh", "-c", "exec httpd -f -p 3000 -h /www"]\n`,
  'www/index.html': 'version one\n',
};
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

describe.each(testEngineKinds())('a repository with a webhook on %s', (kind) => {
  let setup: TestSetup;
  let repository: TestRepository;
  let id: string;
  let address: { url: string; secret: string };
  beforeAll(async () => {
    setup = await TestSetup.open(kind);
    const made = setup.repository('shop', shop);
    ({ repository } = made);
    const body = { ports: [port], memory: 64, auto_deploy: true, auto_preview: true };
    id = await setup.application('shop', made.url, body);
    address = await setup.davit.client.call('createServiceGitWebhook', { params: { serviceId: id }, body: {} });
    await setup.deploy(id);
  });
  afterAll(async () => {
    await setup?.close();
  });

  async function tell(event: string, payload: object): Promise<void> {
    const body = JSON.stringify(payload);
    const signature = createHmac('sha256', address.secret).update(body).digest('hex');
    const headers = { 'x-github-event': event, 'x-github-delivery': randomUUID(), 'x-hub-signature-256': `sha256=${signature}` };
    const started = performance.now();
    const response = await fetch(address.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
    });
    expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 202 });
    // Git hosts wait for at least ten seconds. A machine that builds at the same time is slow.
    expect(performance.now() - started).toBeLessThan(5000);
  }

  const answersAt = (link: string, text: string) =>
    eventually(async () => ((await setup.fetch(link)).body === `${text}\n` ? true : undefined), `the answer ${text}`, 120_000);

  test('a push is deployed and answers', async () => {
    const before = repository.git('rev-parse', 'main');
    const after = repository.commit('version two', { 'www/index.html': 'version two\n' });
    await tell('push', { ref: 'refs/heads/main', before, after, forced: false, pusher: { name: 'ada' } });
    await answersAt(await setup.link(id), 'version two');
    const { results } = await setup.davit.client.call('listServiceGitEvents', { params: { serviceId: id } });
    expect(results[0]?.verdicts).toMatchObject([{ service_id: id, verdict: 'DEPLOYED', git_commit_id: after }]);
  });

  test('a pull request has a preview that answers beside the environment, and leaves nothing when it is closed', async () => {
    const base = repository.git('rev-parse', 'main');
    repository.git('checkout', '--quiet', '-b', 'feature');
    let head = repository.commit('a feature', { 'www/index.html': 'a feature\n' });
    const request = (action: string) => {
      const repo = { full_name: 'acme/shop' };
      const pull_request = {
        number: 7,
        title: 'A feature',
        head: { ref: 'feature', sha: head, repo },
        base: { ref: 'main', sha: base, repo },
      };
      return tell('pull_request', { action, number: 7, pull_request });
    };
    await request('opened');
    const { client } = setup.davit;
    const params = { projectId: setup.projectId };
    const previews = async () =>
      (await client.call('listEnvironment', { params })).results.filter(({ mode }) => mode === 'PREVIEW');
    const preview = await eventually(async () => (await previews())[0], 'the preview');
    expect(preview.name).toBe('PR 7 shop: production');
    const copies = await client.call('listApplication', { params: { environmentId: preview.id } });
    const copy = copies.results[0]?.id ?? '';
    const link = await eventually(async () => setup.link(copy).catch(() => undefined), 'its address');
    await answersAt(link, 'a feature');
    head = repository.commit('a better feature', { 'www/index.html': 'a better feature\n' });
    await request('synchronize');
    await answersAt(link, 'a better feature');
    expect((await setup.fetch(await setup.link(id))).body).toBe('version two\n');
    expect(await setup.containers(copy)).not.toEqual([]);
    await request('closed');
    await eventually(async () => ((await previews()).length === 0 ? true : undefined), 'the removal', 120_000);
    expect(await setup.containers(copy)).toEqual([]);
    const networks = await setup.docker.listNetworks();
    expect(networks.filter(({ Name }) => Name.includes(preview.id))).toEqual([]);
    expect((await setup.fetch(link)).status).toBeGreaterThanOrEqual(404);
    expect((await setup.fetch(await setup.link(id))).body).toBe('version two\n');
  });
});
