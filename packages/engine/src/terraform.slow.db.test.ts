import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { statement } from '@davit/db';
import { DriverError, type TerraformDriver } from '@davit/drivers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ReleaseConfig, RequestedService, TerraformReleaseSource } from './port.ts';
import { writeLeftState } from './store/terraform-runs.ts';
import { config, terraformSource } from './testing/config.ts';
import { createTestEngine, eventually, service, type TestEngine } from './testing/test-engine.ts';

const hasTerraform = spawnSync('terraform', ['version']).status === 0;
const long = { timeout: 60_000 };

let fixture: TestEngine;
/** Files of the repository. */
let files: Record<string, string>;
beforeEach(async () => {
  fixture = await createTestEngine();
  files = {};
  const { source: fake } = fixture.fake;
  const checkout = fake.checkout.bind(fake);
  const written: TestEngine['fake']['source']['checkout'] = async (source, directory, call) => {
    const commit = await checkout(source, directory, call);
    for (const [name, text] of Object.entries(files)) {
      await mkdir(dirname(join(directory, name)), { recursive: true });
      await writeFile(join(directory, name), text);
    }
    return commit;
  };
  Object.assign(fixture.fake.source, { checkout: written });
});
afterEach(() => fixture.close());

const stateRows = statement<{ text: string; lock: { ID: string } | null }>(
  'test_terraform_states',
  `select coalesce(encode(sealed, 'escape'), '') as text, lock from terraform_state where service_id = $1`,
);
const holdLock = statement(
  'test_terraform_lock',
  `insert into terraform_state (service_id, organization_id, environment_id, lock, lock_deployment_id)
   values ($1, $1, $1, '{"ID": "left", "Operation": "OperationTypeApply", "Who": "somebody"}', $1)
   on conflict (service_id) do update set lock = excluded.lock, lock_deployment_id = excluded.lock_deployment_id`,
);
const states = (serviceId: string) => fixture.database.database.many(stateRows, [serviceId]);

function terraform(source: Partial<TerraformReleaseSource> = {}, more: Partial<ReleaseConfig> = {}): RequestedService {
  return service({
    serviceType: 'TERRAFORM',
    name: 'infra',
    config: config({ source: terraformSource(source), ports: [], instances: 0, ...more }),
  });
}

/** Returns the same service with another source. */
function as(infra: RequestedService, source: Partial<TerraformReleaseSource>): RequestedService {
  const { release } = infra;
  if (release === undefined || !('config' in release) || release.config.source.type !== 'TERRAFORM')
    throw new Error('no release');
  return { ...infra, release: { ...release, config: { ...release.config, source: { ...release.config.source, ...source } } } };
}

async function log(): Promise<string> {
  const { lines } = await fixture.engine.port.deploymentLog(fixture.database.database, fixture.environmentId, null);
  return lines.map(({ message }) => message).join('\n');
}

const reaches = (infra: RequestedService, ...words: string[]) => fixture.reaches(infra.serviceId, ...words);
const left = async (): Promise<string[]> =>
  (await readdir(fixture.workFolder, { recursive: true })).filter((name) => name.includes('source'));

const hello = `
variable "greeting" { type = string }
resource "terraform_data" "hello" { input = var.greeting }
output "said" { value = terraform_data.hello.output }
output "hidden" {
  value     = terraform_data.hello.output
  sensitive = true
}
`;

describe.skipIf(!hasTerraform)('a Terraform configuration', () => {
  test('is planned and applied; its state is kept sealed, its outputs are told, its secrets are not', long, async () => {
    files = { 'main.tf': hello };
    const secret = randomUUID();
    fixture.secrets.set(secret, 'sesame-42');
    const infra = terraform({ variables: [{ name: 'greeting', parts: [{ secret }] }] });
    await fixture.deploy([infra]);
    const view = await reaches(infra, 'DEPLOYED', 'DEPLOYMENT_ERROR');
    expect(view).toMatchObject({ state: 'DEPLOYED', terraformAction: 'APPLY', runningStatus: 'COMPLETED', failure: null });
    expect(view.steps?.details.map(({ metric, status }) => `${metric} ${status}`)).toEqual([
      'BUILD_QUEUEING SUCCESS',
      'GIT_CLONE SUCCESS',
      'DEPLOYMENT_QUEUEING SUCCESS',
      'EXECUTING SUCCESS',
    ]);
    expect(fixture.outputs.get(infra.serviceId)).toEqual([
      { name: 'hidden', value: 'sesame-42', sensitive: true, description: null },
      { name: 'said', value: 'sesame-42', sensitive: false, description: null },
    ]);
    const [state, ...others] = await states(infra.serviceId);
    expect(others).toEqual([]);
    expect(state).toMatchObject({ lock: null, text: expect.not.stringContaining('sesame') });
    const resources = () => fixture.engine.port.terraformResources(fixture.database.database, infra.serviceId);
    // Its values contain the secret.
    expect((await resources())?.resources).toMatchObject([
      { address: 'terraform_data.hello', attributes: { id: expect.any(String) } },
    ]);
    expect(JSON.stringify(await resources())).not.toContain('sesame');
    expect(await log()).toContain('Apply complete! Resources: 1 added');
    expect(await log()).not.toContain('sesame');
    expect(await left()).toEqual([]);
    // Nothing changed, so nothing is applied.
    await fixture.deploy([infra]);
    await eventually(
      async () => ((await fixture.view(infra.serviceId)).executionId?.endsWith('-2') === true ? true : undefined),
      'the second',
    );
    await reaches(infra, 'DEPLOYED');
    expect(await log()).toContain('No changes.');
    // A deletion destroys what was created, and removes its state.
    await fixture.deploy([as(infra, { action: 'DESTROY' })], { action: 'DELETE' });
    await eventually(() => Promise.resolve(fixture.deleted.includes(infra.serviceId) ? true : undefined), 'the deletion');
    expect(await log()).toContain('1 destroyed');
    expect(await states(infra.serviceId)).toEqual([]);
    expect(await resources()).toBeNull();
    expect(fixture.outputs.get(infra.serviceId)).toEqual([]);
    expect(await left()).toEqual([]);
  });

  test('tells an output that no process could get only in the log, and stores the rest', long, async () => {
    const large = `output "kube-config" { value = join("", [for i in range(1000) : format("%0200d", i)]) }`;
    files = { 'main.tf': hello, 'large.tf': large };
    const infra = terraform({ variables: [{ name: 'greeting', parts: ['hello'] }] });
    await fixture.deploy([infra]);
    expect(await reaches(infra, 'DEPLOYED', 'DEPLOYMENT_ERROR')).toMatchObject({ state: 'DEPLOYED', failure: null });
    expect(fixture.outputs.get(infra.serviceId)?.map(({ name }) => name)).toEqual(['hidden', 'said']);
    expect(await log()).toContain('Outputs: hidden, said.');
    expect(await log()).toMatch(/The output kube_config is ignored: its value of 200000 bytes .* takes 131071 bytes\./);
  });

  test('is only planned when that is asked for', long, async () => {
    files = { 'main.tf': hello };
    const infra = terraform({ action: 'PLAN', variables: [{ name: 'greeting', parts: ['hello'] }] });
    await fixture.deploy([infra]);
    const view = await reaches(infra, 'DEPLOYED', 'DEPLOYMENT_ERROR');
    expect(view).toMatchObject({ terraformAction: 'PLAN', failure: null, deployedConfigHash: null, deployedReleaseId: null });
    expect(await log()).toContain('Plan: 1 to add');
    expect(await states(infra.serviceId)).toMatchObject([{ text: '', lock: null }]);
    expect(await left()).toEqual([]);
  });

  test('that fails says why; what had been made is destroyed when it is uninstalled', long, async () => {
    const broken = `resource "terraform_data" "bad" {
  depends_on = [terraform_data.hello]
  provisioner "local-exec" { command = "echo no >&2; exit 3" }
}`;
    files = { 'main.tf': hello, 'broken.tf': broken };
    const infra = terraform({ variables: [{ name: 'greeting', parts: ['hello'] }] });
    await fixture.deploy([infra]);
    const view = await reaches(infra, 'DEPLOYED', 'DEPLOYMENT_ERROR');
    expect(view).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'TERRAFORM_FAILED' }, deployedConfigHash: null });
    expect(view.failure?.message).toContain('local-exec provisioner error');
    expect(await left()).toEqual([]);
    expect(await fixture.engine.port.isKnown(fixture.database.database, infra.serviceId)).toBe(true);
    await fixture.deploy([as(infra, { action: 'DESTROY' })], { action: 'UNINSTALL' });
    await reaches(infra, 'READY', 'DELETE_ERROR');
    expect(await log()).toContain('2 destroyed');
    expect(await states(infra.serviceId)).toEqual([]);
  });

  test('that is given up leaves what it made in the world', long, async () => {
    files = { 'main.tf': hello };
    const infra = terraform({ variables: [{ name: 'greeting', parts: ['hello'] }] });
    await fixture.deploy([infra]);
    await reaches(infra, 'DEPLOYED');
    await fixture.deploy([as(infra, { action: 'FORGET' })], { action: 'UNINSTALL' });
    await reaches(infra, 'READY');
    expect(await log()).not.toContain('destroyed');
    expect(await states(infra.serviceId)).toEqual([]);
  });

  test('whose state is locked is refused until it is unlocked', long, async () => {
    files = { 'main.tf': hello };
    const infra = terraform({ variables: [{ name: 'greeting', parts: ['hello'] }] });
    await fixture.database.database.run(holdLock, [infra.serviceId]);
    await fixture.deploy([infra]);
    expect((await reaches(infra, 'DEPLOYED', 'DEPLOYMENT_ERROR')).failure?.code).toBe('TERRAFORM_STATE_LOCKED');
    await fixture.deploy([as(infra, { action: 'FORCE_UNLOCK' })]);
    await reaches(infra, 'DEPLOYED');
    expect(await states(infra.serviceId)).toMatchObject([{ lock: null }]);
    await fixture.deploy([infra]);
    await eventually(
      async () => ((await fixture.view(infra.serviceId)).deployedConfigHash === null ? undefined : true),
      'the apply',
    );
  });

  test('moves its state to the backend that is configured now', long, async () => {
    files = { 'main.tf': hello };
    const location = join(fixture.workFolder, 'kept.tfstate');
    const variables = [{ name: 'greeting', parts: ['hello'] }];
    const infra = terraform({ variables, backend: { blueprint: { type: 'local', config: { path: location } } } });
    await fixture.deploy([infra]);
    await reaches(infra, 'DEPLOYED');
    expect(await states(infra.serviceId)).toEqual([]);
    await fixture.deploy([as(infra, { action: 'MIGRATE_STATE', backend: { kubernetes: {} } })]);
    await eventually(async () => ((await states(infra.serviceId)).length > 0 ? true : undefined), 'the state');
    await reaches(infra, 'DEPLOYED');
    await fixture.deploy([as(infra, { backend: { kubernetes: {} } })]);
    await eventually(
      async () => ((await fixture.view(infra.serviceId)).executionId?.endsWith('-3') === true ? true : undefined),
      'the third',
    );
    await reaches(infra, 'DEPLOYED');
    expect(await log()).toContain('No changes.');
  });

  test('is canceled in order, and goes on where Davit was stopped in the middle', long, async () => {
    const slow = `resource "terraform_data" "slow" {
  depends_on = [terraform_data.hello]
  provisioner "local-exec" { command = "echo begun; sleep 3" }
}`;
    files = { 'main.tf': hello, 'slow.tf': slow };
    const infra = terraform({ variables: [{ name: 'greeting', parts: ['hello'] }] });
    await fixture.deploy([infra]);
    expect(await reaches(infra, 'EXECUTING')).toMatchObject({ actionStatus: 'EXECUTING' });
    await eventually(async () => ((await log()).includes('begun') ? true : undefined), 'the slow one');
    await fixture.engine.port.cancel(fixture.environmentId, false);
    await reaches(infra, 'CANCELED');
    expect(await states(infra.serviceId)).toMatchObject([{ lock: null }]);
    await fixture.deploy([infra]);
    await eventually(
      async () => ((await fixture.view(infra.serviceId)).executionId?.endsWith('-2') === true ? true : undefined),
      'the second',
    );
    await eventually(async () => ((await log()).includes('begun') ? true : undefined), 'the slow one again');
    await fixture.restart();
    const view = await reaches(infra, 'DEPLOYED', 'DEPLOYMENT_ERROR');
    expect(view).toMatchObject({ state: 'DEPLOYED', failure: null });
    expect(await log()).toContain('This apply was interrupted');
  });

  test('is not stopped with its environment', long, async () => {
    files = { 'main.tf': hello };
    const infra = terraform({ variables: [{ name: 'greeting', parts: ['hello'] }] });
    await fixture.deploy([infra]);
    await reaches(infra, 'DEPLOYED');
    await expect(fixture.deploy([infra], { action: 'STOP' })).rejects.toMatchObject({ code: 'NOT_SUPPORTED' });
    await fixture.deploy([infra], { action: 'STOP', wholeEnvironment: true });
    expect((await fixture.view(infra.serviceId)).state).toBe('DEPLOYED');
  });
});

describe('a Terraform configuration whose cluster runs it', () => {
  const runs = statement<{ id: string; service_id: string }>('test_terraform_runs', 'select id, service_id from terraform_run');
  const idle = {
    name: 'infra',
    image: `sha256:${'1'.repeat(64)}`,
    entrypoint: [],
    arguments: [],
    environment: [],
    files: [],
    ports: [],
    volumes: [],
    cpuMillicores: 10,
    memoryMiB: 16,
    instances: 1,
    hostnames: [],
    readiness: null,
    liveness: null,
    readyTimeoutSeconds: 1,
    terminationGraceSeconds: 1,
    runsOnce: true as const,
  };
  const locations = statement<{ driver: string }>(
    'test_terraform_places',
    'select driver from service_place where service_id = $1',
  );
  const openRuns = () => fixture.database.database.many(runs);

  test('gets a token for its state that is good for as long as it runs, and what it leaves is removed', long, async () => {
    const infra = terraform();
    const seen: { readonly runId: string; readonly token: string; readonly answers: readonly number[] }[] = [];
    const removed: string[] = [];
    const { port } = fixture.engine;
    const driver: TerraformDriver = {
      versions: () => Promise.resolve([]),
      open: async (run) => {
        if (run.backend.type !== 'DAVIT' || !('admit' in run.backend)) throw new Error('the state is with Davit');
        const { path, password: token } = await run.backend.admit();
        expect(await fixture.database.database.many(locations, [infra.serviceId])).toEqual([{ driver: 'fake' }]);
        expect(path).toBe(`/internal/terraform-state/${run.id}`);
        const ask = async (method: string, body: string): Promise<number> =>
          (await port.terraformState({ runId: run.id, token }, { method, body })).status;
        const answers = [await ask('GET', ''), await ask('POST', '{"serial":7}'), await ask('GET', '')];
        seen.push({ runId: run.id, token, answers });
        throw new DriverError({ cause: 'OUT_OF_MEMORY', message: 'it was too large' });
      },
      remove: ({ service }) => Promise.resolve(void removed.push(service)),
      end: () => Promise.resolve([]),
      hasUnstoredState: () => Promise.resolve(false),
    };
    Object.assign(fixture.input.drivers['fake'] ?? {}, { terraform: driver });
    await fixture.deploy([infra]);
    const view = await reaches(infra, 'DEPLOYED', 'DEPLOYMENT_ERROR');
    expect(view).toMatchObject({ state: 'DEPLOYMENT_ERROR', failure: { code: 'OUT_OF_MEMORY' } });
    const [run] = seen;
    expect(run?.answers).toEqual([204, 200, 200]);
    expect(removed).toEqual([infra.serviceId]);
    expect(await openRuns()).toEqual([]);
    const credentials = { runId: run?.runId ?? '', token: run?.token ?? '' };
    expect(await port.isTerraformRun(credentials)).toBe(false);
    expect(await port.terraformState(credentials, { method: 'GET', body: '' })).toEqual({ status: 401, body: null });
    expect(await states(infra.serviceId)).toMatchObject([{ lock: null, text: expect.not.stringContaining('serial') }]);
    // A configuration that created nothing is removed with its place.
    await fixture.deploy([as(infra, { action: 'DESTROY' })], { action: 'DELETE' });
    await eventually(() => Promise.resolve(fixture.deleted.includes(infra.serviceId) ? true : undefined), 'the deletion');
    expect(await fixture.database.database.many(locations, [infra.serviceId])).toEqual([]);
  });

  test(
    'that is left by its deployment reaches its state until the keeper has ended it, with what it could not store',
    long,
    async () => {
      const infra = terraform();
      const { port } = fixture.engine;
      let run = { runId: '', token: '' };
      let isAway = true;
      fixture.fake.images.set('i', { id: idle.image, sizeBytes: 1 });
      const ended: (readonly string[] | undefined)[] = [];
      const driver: TerraformDriver = {
        versions: () => Promise.resolve([]),
        open: async ({ id, owner, release, backend }, call) => {
          if (backend.type !== 'DAVIT' || !('admit' in backend)) throw new Error('the state is with Davit');
          const { password: token } = await backend.admit();
          run = { runId: id, token };
          await fixture.fake.cluster.start({ ...idle, owner, release, rollout: id }, call);
          throw new DriverError({ cause: 'TERRAFORM_FAILED', message: 'the cluster went away' });
        },
        remove: () => Promise.reject(new DriverError({ cause: 'ENGINE_FAILED', message: 'still away' })),
        end: ({ runs: which }) => {
          if (isAway) return Promise.reject(new DriverError({ cause: 'ENGINE_FAILED', message: 'away', retryable: true }));
          ended.push(which);
          return Promise.resolve([{ runId: run.runId, state: '{"serial":9}' }]);
        },
        hasUnstoredState: () => Promise.resolve(false),
      };
      Object.assign(fixture.input.drivers['fake'] ?? {}, { terraform: driver });
      await fixture.deploy([infra]);
      await reaches(infra, 'DEPLOYMENT_ERROR');
      expect(await port.terraformState(run, { method: 'POST', body: '{"serial":8}' })).toMatchObject({ status: 200 });
      expect(fixture.fake.instances.map(({ rollout }) => rollout)).toEqual([run.runId]);
      isAway = false;
      await eventually(async () => ((await openRuns()).length === 0 ? true : undefined), 'the end of the run');
      expect(ended).toEqual([[run.runId]]);
      expect(fixture.fake.instances).toEqual([]);
      expect(await port.terraformState(run, { method: 'POST', body: '{"serial":10}' })).toMatchObject({ status: 401 });
      const [state] = await states(infra.serviceId);
      expect(state?.text).toBe(Buffer.from('{"serial":9}').toString('base64'));
    },
  );

  test('keeps what it could not store until the database is back', long, async () => {
    const infra = terraform();
    let runId = '';
    let failures = 1;
    await fixture.restart((requested) => requested === writeLeftState && (failures -= 1) >= 0);
    fixture.fake.images.set('i', { id: idle.image, sizeBytes: 1 });
    const { cluster } = fixture.fake;
    const driver: TerraformDriver = {
      versions: () => Promise.resolve([]),
      open: async ({ id, owner, release, backend }, call) => {
        if (backend.type !== 'DAVIT' || !('admit' in backend)) throw new Error('the state is with Davit');
        await backend.admit();
        runId = id;
        await cluster.start({ ...idle, owner, release, rollout: id }, call);
        throw new DriverError({ cause: 'TERRAFORM_FAILED', message: 'it did not work' });
      },
      remove: ({ service: of }, grace, call) => cluster.retire({ service: of }, grace, call),
      end: async ({ service: of }, _grace, { signal }) =>
        (await cluster.observe({ service: of }, signal)).map(({ rollout }) => ({ runId: rollout, state: '{"serial":9}' })),
      hasUnstoredState: () => Promise.resolve(false),
    };
    Object.assign(fixture.input.drivers['fake'] ?? {}, { terraform: driver });
    await fixture.deploy([infra]);
    expect((await reaches(infra, 'DEPLOYMENT_ERROR')).failure).toMatchObject({ code: 'TERRAFORM_FAILED' });
    await eventually(async () => ((await openRuns()).length === 0 ? true : undefined), 'the end of the run');
    expect(failures).toBeLessThan(0);
    expect(runId).not.toBe('');
    expect(fixture.fake.instances).toEqual([]);
    expect((await states(infra.serviceId))[0]?.text).toBe(Buffer.from('{"serial":9}').toString('base64'));
  });

  test('that cannot, as nobody named an address of Davit, is told where it runs instead', long, async () => {
    Object.assign(fixture.fake.cluster, { kind: 'kubernetes' });
    const infra = terraform({ git: { ...terraformSource().git, rootPath: '/nowhere' } });
    await fixture.deploy([infra]);
    await reaches(infra, 'DEPLOYMENT_ERROR');
    expect(await log()).toContain('Runs on the machine of Davit and not on the cluster');
  });
});
