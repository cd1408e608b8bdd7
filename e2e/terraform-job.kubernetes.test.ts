import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { statement } from '../packages/db/src/index.ts';
import { readKubeconfig } from '../packages/drivers/src/kubernetes/client/kubeconfig.ts';
import { testCluster } from '../packages/drivers/src/kubernetes/testing/cluster.ts';
import { scratchFolder, startGitServer, TestRepository, type GitServer } from '../packages/drivers/src/source/testing.ts';
import { eventually } from './support/eventually.ts';
import { kubeconfigOf, KubernetesSetup, madeKinds } from './support/kubernetes-setup.ts';
import { ownAddress } from './support/own-address.ts';
import { Way } from './support/way.ts';

/* Terraform as a Job on a cluster whose pods can reach this machine. Each test builds on the one before. */

const cluster = testCluster();
const { DAVIT_TEST_KUBERNETES_TERRAFORM_IMAGE: image } = process.env;
const missing =
  cluster.missing ?? (image === undefined ? 'DAVIT_TEST_KUBERNETES_TERRAFORM_IMAGE names no image with terraform' : null);
const version = image?.split(':').at(-1) ?? '';
const takenWithinMilliseconds = 20_000;
const awayMilliseconds = 45_000;
const secret = 'canary-of-terraform-jobs';

const stateRow = statement<{ lock: object | null; bytes: number; text: string }>(
  'e2e_terraform_state',
  `SELECT lock, coalesce(octet_length(sealed), 0) AS bytes, coalesce(encode(sealed, 'escape'), '') AS text FROM terraform_state WHERE service_id = $1`,
);
const runs = statement<{ id: string }>('e2e_terraform_runs', 'SELECT id FROM terraform_run');
const newest = statement<{ runner_id: string | null; status: string }>(
  'e2e_terraform_newest',
  'SELECT runner_id, status FROM deployment ORDER BY sequence DESC LIMIT 1',
);

/** Counts requests by path. */
class Counter {
  readonly #server: Server;
  readonly counts = new Map<string, number>();

  constructor() {
    this.#server = createServer(({ url = '' }, response) => {
      this.counts.set(url, (this.counts.get(url) ?? 0) + 1);
      response.end('counted');
    });
  }

  async open(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, '0.0.0.0', done));
    const address = this.#server.address();
    return `http://${ownAddress()}:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  close(): Promise<unknown> {
    return new Promise((done) => this.#server.close(done));
  }
}

describe.skipIf(missing !== null)(`Terraform on Kubernetes${missing === null ? '' : ` (${missing})`}`, () => {
  let setup: KubernetesSetup;
  let way: Way;
  let git: GitServer;
  let folder: ReturnType<typeof scratchFolder>;
  let infra: TestRepository;
  let counter: Counter;
  let counterUrl: string;
  let terraformId: string;

  const hello = (text: string): string => `
variable "password" { type = string }
variable "certificate" { type = string }
resource "terraform_data" "hello" { input = "${text}" }
resource "terraform_data" "secret" { input = var.password }
output "said" { value = terraform_data.hello.output }
output "certificate" { value = file(var.certificate) }
output "hidden" {
  value     = terraform_data.secret.output
  sensitive = true
}
`;
  /** Returns a resource that calls the counter when it is created. Its creation takes this number of seconds. */
  const slow = (name: string, seconds: number): string => `
resource "terraform_data" "${name}" {
  provisioner "local-exec" { command = "wget -q -O /dev/null ${counterUrl}/${name} && sleep ${seconds}" }
}
`;
  const row = () => setup.davit.database.database.maybe(stateRow, [terraformId]);
  const last = () => setup.davit.database.database.one(newest);
  const status = () => setup.davit.client.call('getTerraform', { params: { terraformId } });
  const deploy = (action?: 'PLAN' | 'FORCE_UNLOCK' | 'MIGRATE_STATE') =>
    setup.davit.client.call('deployTerraform', { params: { terraformId }, body: action === undefined ? {} : { action } });
  const outcome = async (): Promise<string> => (await last()).status;
  const began = (name: string) =>
    eventually(async () => (counter.counts.has(`/${name}`) ? true : undefined), `${name} to begin`, 60_000);
  const ended = () => eventually(async () => ((await outcome()) === 'RUNNING' ? undefined : outcome()), 'the end', 90_000);
  const succeeded = async (): Promise<void> => {
    if ((await outcome()) !== 'SUCCEEDED') throw new Error(await setup.log());
  };
  /** Returns the names of the service's objects on the cluster. */
  const left = async (): Promise<string[]> => (await Promise.all(madeKinds.map((kind) => setup.names(kind, terraformId)))).flat();
  const output = async (name: string): Promise<string | null | undefined> => {
    const { environmentId } = setup;
    const { results } = await setup.davit.client.call('listEnvironmentEnvironmentVariable', { params: { environmentId } });
    return results.find(({ key }) => key === `DAVIT_OUTPUT_TERRAFORM_Z${terraformId.slice(0, 8).toUpperCase()}_${name}`)?.value;
  };

  beforeAll(async () => {
    folder = scratchFolder();
    git = await startGitServer(folder.path);
    infra = new TestRepository(join(folder.path, 'infra'));
    counter = new Counter();
    counterUrl = await counter.open();
    const access = readKubeconfig(cluster.kubeconfig);
    way = new Way(new URL(access.server));
    setup = await KubernetesSetup.open(cluster, {
      // The certificate of every API server contains this name.
      kubeconfig: kubeconfigOf({ ...access, server: await way.open(), serverName: 'kubernetes.default' }),
      environment: { DAVIT_HOST: '0.0.0.0', DAVIT_SECRET_KEY: Buffer.alloc(32, 7).toString('base64') },
      settings: (made) =>
        Promise.resolve({
          davit_address: `http://${ownAddress()}:${new URL(made.davit.url).port}`,
          terraform_image: image,
          pod_security: 'restricted',
        }),
    });
    await setup.davit.client.call('editClusterKubeconfig', { params: setup.ids, body: setup.kubeconfig });
    infra.commit('first', { 'main.tf': hello('one') });
    const made = await setup.davit.client.call('createTerraform', {
      params: { environmentId: setup.environmentId },
      body: {
        name: 'infra',
        terraform_files_source: { git_repository: { url: `${git.url}/infra`, branch: 'main' } },
        terraform_variables_source: {
          tf_vars: [
            { key: 'password', value: secret, secret: true },
            { key: 'certificate', value: '/files/certificate', secret: false },
          ],
        },
        job_resources: { cpu_milli: 500, ram_mib: 512, storage_gib: 1 },
        timeout_sec: 120,
      },
    });
    terraformId = made.id;
    await setup.davit.client.call('createVariable', {
      body: {
        key: 'CERTIFICATE',
        value: 'pem-of-the-test',
        mount_path: '/files/certificate',
        is_secret: true,
        variable_scope: 'TERRAFORM',
        variable_parent_id: terraformId,
      },
    });
  });
  afterAll(async () => {
    way?.restore();
    await setup?.close();
    await Promise.all([git?.close(), counter?.close(), way?.close()]);
    folder?.remove();
  });

  test('is applied in a pod; its state is with Davit, its outputs are told, its secrets are not, and nothing of it stays', async () => {
    await setup.settled(deploy);
    await succeeded();
    const log = await setup.log();
    expect(log).toContain(`Runs on the cluster with the image ${image}.`);
    expect(log).toContain('Apply complete! Resources: 2 added');
    expect(log).not.toContain(secret);
    expect(await output('said')).toBe('one');
    expect(await output('certificate')).toBe('pem-of-the-test');
    const state = await row();
    expect(state?.lock).toBeNull();
    expect(state?.bytes).toBeGreaterThan(500);
    expect(state?.text).not.toContain(secret);
    const { results } = await setup.davit.client.call('getTerraformResources', { params: { terraformId } });
    expect(results.map(({ address }) => address).toSorted()).toEqual(['terraform_data.hello', 'terraform_data.secret']);
    expect(await left()).toEqual([]);
    expect(await setup.davit.database.database.many(runs)).toEqual([]);
    expect((await status()).name).toBe('infra');
  });

  test('a plan alone changes nothing; the apply of a change does', async () => {
    infra.commit('second', { 'main.tf': hello('two') });
    const before = await row();
    await setup.settled(() => deploy('PLAN'));
    expect(await setup.log()).toContain('Plan: 0 to add, 1 to change, 0 to destroy');
    expect(await output('said')).toBe('one');
    expect(await row()).toEqual(before);
    expect(await left()).toEqual([]);
    await setup.settled(deploy);
    expect(await setup.log()).toContain('0 added, 1 changed, 0 destroyed');
    expect(await output('said')).toBe('two');
  });

  test('an apply that fails says why, and what it had made is in the state', async () => {
    const broken =
      'resource "terraform_data" "broken" {\n  provisioner "local-exec" { command = "echo no such luck; exit 3" }\n}\n';
    infra.commit('broken', { 'broken.tf': broken });
    await setup.settled(deploy);
    const log = await setup.log();
    expect(await outcome()).toBe('FAILED');
    expect(log).toContain('no such luck');
    expect(log).toContain('terraform apply failed with exit code 1: local-exec provisioner error');
    expect((await row())?.lock).toBeNull();
    expect(await left()).toEqual([]);
    infra.commit('mended', { 'broken.tf': '' });
    await setup.settled(deploy);
    expect(await setup.log()).toContain('0 added, 0 changed, 1 destroyed');
  });

  test('what needs more memory than it may use, or an image that is not there, is told by its cause', async () => {
    const params = { terraformId };
    const edit = (ram_mib: number, explicit_version: string | null) =>
      setup.davit.client.call('editTerraform', {
        params,
        body: {
          job_resources: { cpu_milli: 500, ram_mib, storage_gib: 1 },
          provider_version: { read_from_terraform_block: explicit_version === null, explicit_version },
        },
      });
    await edit(512, '0.0.1');
    await setup.settled(deploy);
    expect(await setup.log()).toMatch(/The nodes cannot pull .*:0\.0\.1/);
    await edit(64, null);
    infra.commit('large', {
      'large.tf': 'output "large" { value = length(jsonencode([for i in range(1024) : [for j in range(1024) : "x"]])) }\n',
    });
    await setup.settled(deploy);
    expect(await setup.log()).toContain('used more than the 64 MiB of memory');
    expect(await left()).toEqual([]);
    await edit(512, version);
    infra.commit('small', { 'large.tf': '' });
    await setup.settled(() => deploy('FORCE_UNLOCK'));
    await setup.settled(deploy);
    await succeeded();
    await edit(512, null);
  });

  test('a cancel lets it end in order: its state is stored and unlocked', async () => {
    infra.commit('slow', { 'slow.tf': slow('canceled', 60) });
    await deploy();
    await began('canceled');
    expect((await row())?.lock).not.toBeNull();
    const { environmentId } = setup;
    await setup.davit.client.call('cancelEnvironmentDeployment', { params: { environmentId }, body: {} });
    expect(await ended()).toBe('CANCELED');
    expect(await setup.log()).toContain('Interrupt received');
    expect((await row())?.lock).toBeNull();
    expect(await left()).toEqual([]);
  });

  test('a cancel with force does not wait for it', async () => {
    infra.commit('slower', { 'slow.tf': slow('forced', 60) });
    await deploy();
    await began('forced');
    const { environmentId } = setup;
    const begin = Date.now();
    await setup.davit.client.call('cancelEnvironmentDeployment', { params: { environmentId }, body: { force_cancel: true } });
    expect(await ended()).toBe('CANCELED');
    expect(Date.now() - begin).toBeLessThan(10_000);
    expect(await left()).toEqual([]);
    // The run may or may not have released the lock before it was killed.
    await setup.settled(() => deploy('FORCE_UNLOCK'));
    expect((await row())?.lock).toBeNull();
  });

  test('a worker that is killed in the middle of an apply costs nothing: the next one follows the same apply', async () => {
    infra.commit('long', { 'slow.tf': slow('survives', 15) });
    await deploy();
    await began('survives');
    const [job] = await setup.names('Job', terraformId);
    const former = await last();
    const other = await setup.davit.peer();
    try {
      await setup.davit.kill('SIGKILL');
      const killed = Date.now();
      await eventually(async () => ((await last()).runner_id === former.runner_id ? undefined : true), 'another worker', 30_000);
      const taken = Date.now() - killed;
      expect(taken).toBeLessThan(takenWithinMilliseconds);
      expect(await setup.names('Job', terraformId)).toEqual([job]);
      // The pod stores its state at the address of this server. It retries until the server is up.
      await setup.davit.serve();
      await ended();
      console.log(`taken up after ${taken} ms, ended after ${Date.now() - killed} ms`);
    } finally {
      await setup.davit.recover();
      await other.remove();
    }
    await succeeded();
    const log = await setup.log();
    expect(log).toContain('had already started');
    expect(log).toContain('Apply complete!');
    expect(counter.counts.get('/survives')).toBe(1);
    expect((await row())?.lock).toBeNull();
    expect(await left()).toEqual([]);
  });

  test('an API server of the cluster that is away in the middle of an apply holds the deployment up, and not the apply', async () => {
    infra.commit('away', { 'slow.tf': slow('away', 10) });
    await deploy();
    await began('away');
    way.isCut = true;
    await pause(awayMilliseconds);
    expect(await outcome()).toBe('RUNNING');
    // The pod does not store its state through the cut connection.
    expect((await row())?.lock).toBeNull();
    way.restore();
    await ended();
    await succeeded();
    const log = await setup.log();
    expect(log).toContain('The deployment waits for it');
    expect(log).toContain('Apply complete!');
    expect(counter.counts.get('/away')).toBe(1);
    expect(await left()).toEqual([]);
  });

  test('a deletion destroys what it made, in a pod as well', async () => {
    await setup.settled(() => setup.davit.client.call('deleteTerraform', { params: { terraformId } }));
    expect(await setup.log()).toMatch(/Destroy complete|Apply complete! Resources: 0 added, 0 changed, [1-9]\d* destroyed/);
    expect(await row()).toBeUndefined();
    expect(await left()).toEqual([]);
  });
});
