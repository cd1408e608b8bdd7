import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testEngineKinds } from '../packages/testkit/src/engines.ts';
import { eventually } from './support/eventually.ts';
import { busybox, TestSetup } from './support/setup.ts';

/** An application that responds with its environment variables, so that a test sees which release serves. */
const shop = {
  Dockerfile: [
    `FROM ${busybox} AS base`,
    'COPY www /www',
    'FROM base AS final',
    'EXPOSE 3000',
    'CMD ["sh", "-c", "env > /www/env; cat /etc/shop/key >> /www/env; exec httpd -f -p 3000 -h /www"]',
    '',
  ].join('\n'),
  'www/index.html': 'version one\n',
};
const port = { internal_port: 3000, publicly_accessible: true, protocol: 'HTTP' as const };

describe.each(testEngineKinds())('an application on %s', (kind) => {
  let setup: TestSetup;
  let url: string;
  let id: string;
  let push: (text: string) => string;
  beforeAll(async () => {
    setup = await TestSetup.open(kind, { DAVIT_READY_TIMEOUT_SECONDS: '5' });
    const made = setup.repository('shop', shop);
    url = made.url;
    push = (text) => made.repository.commit(text, { 'www/index.html': `${text}\n` });
    id = await setup.application('shop', url, { ports: [port], memory: 64, docker_target_build_stage: 'final' });
  });
  afterAll(async () => {
    await setup?.close();
  });

  test('is READY, then deployed from git, and answers under its address', async () => {
    expect(await setup.status(id)).toMatchObject({ state: 'READY', service_deployment_status: 'NEVER_DEPLOYED' });
    const requested = await setup.davit.client.call('deployApplication', { params: { applicationId: id } });
    expect(requested).toMatchObject({ status: 'QUEUED', application_id: id });
    const status = await setup.reaches(id, 'DEPLOYED');
    expect(status).toMatchObject({ service_deployment_status: 'UP_TO_DATE', is_part_last_deployment: true });
    const address = await setup.link(id);
    expect(await setup.fetch(address)).toEqual({ status: 200, body: 'version one\n' });
    const log = await setup.log();
    expect(log).toContain('Fetched commit');
    expect(log).toMatch(/^build: .*COPY www/m);
  });

  test('shows its variables, secrets, files and built-ins to the process, and secrets to nobody else', async () => {
    const params = { applicationId: id };
    const { client } = setup.davit;
    await client.call('createApplicationEnvironmentVariable', {
      params,
      body: { key: 'GREETING', value: 'he said "$HOME"\\n {{NAME}}' },
    });
    await client.call('createApplicationEnvironmentVariable', { params, body: { key: 'NAME', value: 'Åse ⛵' } });
    const secret = await client.call('createApplicationSecret', { params, body: { key: 'PASSWORD', value: 'canary-4711' } });
    await client.call('createApplicationEnvironmentVariable', {
      params,
      body: { key: 'KEY_FILE', value: 'file content\n', mount_path: '/etc/shop/key' },
    });
    await client.call('createApplicationSecretAlias', {
      params: { ...params, secretId: secret.id },
      body: { key: 'PGPASSWORD' },
    });
    expect((await setup.status(id)).service_deployment_status).toBe('OUT_OF_DATE');
    await setup.deploy(id);
    const { body } = await setup.fetch(`${await setup.link(id)}/env`);
    expect(body).toContain('GREETING=he said "$HOME"\\n Åse ⛵');
    expect(body).toContain('PASSWORD=canary-4711');
    expect(body).toContain('PGPASSWORD=canary-4711');
    expect(body).toContain('KEY_FILE=/etc/shop/key');
    expect(body).toContain('file content');
    expect(body).toMatch(/DAVIT_ENVIRONMENT_ID=/);
    expect(JSON.stringify(await client.call('listApplicationSecrets', { params }))).not.toContain('canary-4711');
  });

  test('runs what was pushed after the next deployment, and the former release after a rollback', async () => {
    const before = (await setup.history(id))[0]?.release_id ?? '';
    for (const text of ['version two', 'version three', 'version four']) {
      push(text);
      expect((await setup.deploy(id)).state).toBe('DEPLOYED');
      expect((await setup.fetch(await setup.link(id))).body).toBe(`${text}\n`);
    }
    await setup.davit.client.call('createApplicationEnvironmentVariable', {
      params: { applicationId: id },
      body: { key: 'LATER', value: 'yes' },
    });
    await setup.deploy(id, { release_id: before });
    expect((await setup.fetch(await setup.link(id))).body).toBe('version one\n');
    expect((await setup.fetch(`${await setup.link(id)}/env`)).body).not.toContain('LATER=yes');
    expect((await setup.status(id)).service_deployment_status).toBe('OUT_OF_DATE');
  });

  test('keeps serving when a deployment fails, and says why', async () => {
    const params = { applicationId: id };
    const wrong = [{ ...port, internal_port: 3999 }];
    await setup.davit.client.call('editApplication', { params, body: { ports: wrong } });
    const status = await setup.deploy(id).catch(async () => setup.status(id));
    expect(status.state).toBe('DEPLOYMENT_ERROR');
    expect(status.failure?.code).toBe('PORT_NOT_LISTENING');
    expect(status.failure?.message).toContain('3000');
    expect((await setup.fetch(await setup.link(id))).status).toBe(200);
    await setup.davit.client.call('editApplication', { params, body: { ports: [port] } });
    await setup.deploy(id);
    await setup.reaches(id, 'DEPLOYED');
  });

  test('runs several instances, restarts without changing the release, stops and starts again', async () => {
    const params = { applicationId: id };
    const { client } = setup.davit;
    await client.call('editApplication', { params, body: { min_running_instances: 3, max_running_instances: 3 } });
    await setup.deploy(id);
    const three = await setup.containers(id);
    expect(three.map((one) => one.State)).toEqual(['running', 'running', 'running']);
    const release = (await setup.status(id)).release_id;
    let former = await setup.latest(id);
    await client.call('rebootApplication', { params });
    expect(await setup.ends(id, former)).toMatchObject({ state: 'RESTARTED', release_id: release });
    const restarted = await setup.containers(id);
    expect(restarted).toHaveLength(3);
    expect(restarted.some((one) => three.some((former) => former.Id === one.Id))).toBe(false);
    former = await setup.latest(id);
    await client.call('stopApplication', { params });
    expect((await setup.ends(id, former)).state).toBe('STOPPED');
    expect(await setup.containers(id)).toEqual([]);
    expect((await setup.fetch(await setup.link(id))).status).toBeGreaterThanOrEqual(404);
    await setup.deploy(id);
    expect((await setup.fetch(await setup.link(id))).status).toBe(200);
  });

  test('has the output of containers that are gone', async () => {
    const { results } = await setup.davit.client.call('listApplicationLog', {
      params: { applicationId: id },
      query: { tail: 5 },
    });
    expect(results.length).toBeLessThanOrEqual(5);
  });

  test('comes back by itself when its process dies and when the engine restarts', async () => {
    const [victim] = await setup.containers(id);
    await setup.docker.getContainer(victim?.Id ?? '').kill();
    const revived = await eventually(async () => {
      const all = await setup.containers(id);
      return all.every((one) => one.State === 'running') ? all : undefined;
    }, 'the revival');
    expect(revived).toHaveLength(3);
    await setup.engine.restart();
    await eventually(
      async () => {
        const answer = await setup.fetch(await setup.link(id)).catch(() => null);
        const all = await setup.containers(id).catch(() => []);
        return answer?.status === 200 && all.length === 3 && all.every((one) => one.State === 'running') ? true : undefined;
      },
      'the return after a restart of the engine',
      120_000,
    );
  });

  test('is deleted with everything it had', async () => {
    await setup.davit.client.call('deleteApplication', { params: { applicationId: id } });
    await eventually(async () => {
      const gone = await setup.status(id).catch((error: unknown) => error);
      return gone instanceof Error ? true : undefined;
    }, 'the deletion');
    expect(await setup.containers(id)).toEqual([]);
    const { environmentId } = setup;
    await setup.davit.client.call('deleteEnvironment', { params: { environmentId } });
    await eventually(async () => ((await setup.networks()).length === 0 ? true : undefined), 'the removal of the network');
    const images = await setup.docker.listImages({ filters: { label: [`davit.service=${id}`] } });
    expect(images).toEqual([]);
  });
});
