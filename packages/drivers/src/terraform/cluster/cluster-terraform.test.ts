import type { Server } from 'node:http';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { ClusterDriver } from '../../driver.ts';
import { DriverError, FolderNotHeldError } from '../../errors.ts';
import type { TerraformRun } from '../../terraform-driver.ts';
import { statePath } from '../../terraform-state.ts';
import type { Instance } from '../../workload.ts';
import { hasTerraform, MemoryState, testRun } from '../testing.ts';
import { ClusterTerraform } from './cluster-terraform.ts';
import { defaultImages } from './pod.ts';
import { ProcessCluster, serveStateAt } from './testing.ts';

/*
 * Runs on a fake cluster whose pods are processes of this machine. For a real one see
 * e2e/terraform-job.kubernetes.test.ts.
 */

const id = '0c1f2f5e-5f0b-8a51-8c9c-0d3f1d3b7f10';
const long = { timeout: 60_000 };
const until = { timeout: 20_000, interval: 20 };

let folder: string;
let pods: ProcessCluster;
let state: MemoryState;
let server: Server;
let terraform: ClusterTerraform;
let lines: string[];
let fetched: number;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pods-'));
  pods = new ProcessCluster(join(folder, 'pods'));
  state = new MemoryState();
  const served = await serveStateAt(state);
  ({ server } = served);
  terraform = new ClusterTerraform({ cluster: pods.cluster, address: served.address, images: defaultImages });
  lines = [];
  fetched = 0;
});
afterEach(async () => {
  await pods.close();
  server.close();
  server.closeAllConnections();
  await rm(folder, { recursive: true, force: true });
});

function run(files: Readonly<Record<string, string>>, overrides: Partial<TerraformRun> = {}): TerraformRun {
  return testRun({
    id,
    folder: join(folder, 'work'),
    fetch: async () => {
      fetched += 1;
      const root = join(folder, 'work/source/infra');
      await mkdir(root, { recursive: true });
      for (const [name, content] of Object.entries(files)) await writeFile(join(root, name), content);
    },
    backend: { type: 'DAVIT', store: state, admit: () => Promise.resolve({ path: statePath(id), password: 'sesame' }) },
    ...overrides,
  });
}

const call = (more: { signal?: AbortSignal; leave?: AbortSignal; force?: AbortSignal } = {}) => ({
  signal: new AbortController().signal,
  log: (line: string) => void lines.push(line),
  ...more,
});
const hello = `variable "greeting" { type = string }
resource "terraform_data" "hello" { input = var.greeting }
output "said" { value = terraform_data.hello.output }
`;
/** Records that the resource is created, and then waits for a file. */
const waiting = (): string => `resource "terraform_data" "slow" {
  provisioner "local-exec" { command = "echo one >> ${folder}/made; while [ ! -e ${folder}/go ]; do sleep 0.05; done" }
}
`;
const isMade = async (): Promise<void> => {
  // The shell creates the file before it writes the line.
  const file = join(folder, 'made');
  await expect.poll(() => (existsSync(file) ? readFileSync(file, 'utf8') : ''), until).toBe('one\n');
};

describe.skipIf(!hasTerraform)('a run on a cluster', () => {
  test('is planned, applied and told in one pod, which other sessions find again', long, async () => {
    const wanted = run({ 'main.tf': hello }, { variables: { greeting: `it's "good" $HOME` } });
    const planning = await terraform.open(wanted, call());
    expect(planning.isNew).toBe(true);
    await planning.init(call());
    expect(await planning.plan(call())).toEqual({ changes: true });
    const applying = await terraform.open(wanted, call());
    expect(applying.isNew).toBe(false);
    await applying.apply(call());
    expect(await applying.outputs(call())).toEqual([{ name: 'said', value: `it's "good" $HOME`, sensitive: false }]);
    expect(await applying.resources(call())).toMatchObject([{ address: 'terraform_data.hello' }]);
    expect(JSON.parse(await applying.pull(call()))).toMatchObject({ serial: 1 });
    expect(state).toMatchObject({ held: null, state: expect.stringContaining('terraform_data') });
    expect({ pods: pods.started, fetched }).toEqual({ pods: 1, fetched: 1 });
    expect(lines.join('\n')).toContain('Apply complete! Resources: 1 added');
    // Later queries do not belong in the output of the run.
    expect(pods.log(id)).not.toContain('"serial"');
    await terraform.remove(wanted.owner, 0, call());
  });

  test('an apply goes on while nobody watches, and whoever comes next follows it', long, async () => {
    const wanted = run({ 'main.tf': waiting() });
    const first = await terraform.open(wanted, call());
    await first.init(call());
    await first.plan(call());
    const left = new AbortController();
    const applying = first.apply(call({ signal: left.signal, leave: left.signal }));
    await isMade();
    left.abort();
    await expect(applying).rejects.toThrow('aborted');
    lines = [];
    const second = await terraform.open(wanted, call());
    const following = second.apply(call());
    await expect.poll(() => lines.join('\n'), until).toContain('terraform_data.slow: Creating...');
    await writeFile(join(folder, 'go'), '');
    await following;
    expect(lines.join('\n')).toContain('Apply complete!');
    // This also works once the pod has ended.
    await (await terraform.open(wanted, call())).apply(call());
    expect(await readFile(join(folder, 'made'), 'utf8')).toBe('one\n');
    expect(state.held).toBeNull();
  });

  test('a node that takes no commands for a while ends nothing: the apply is followed when it does again', long, async () => {
    const wanted = run({ 'main.tf': waiting() });
    const first = await terraform.open(wanted, call());
    await first.init(call());
    await first.plan(call());
    const left = new AbortController();
    const leaving = first.apply(call({ signal: left.signal, leave: left.signal }));
    await isMade();
    left.abort();
    await expect(leaving).rejects.toThrow('aborted');
    const read = pods.cluster.readFile.bind(pods.cluster);
    const refuse: typeof read = () =>
      Promise.reject(new DriverError({ cause: 'ENGINE_FAILED', message: 'error dialing backend', retryable: true }));
    Object.assign(pods.cluster, { readFile: refuse });
    await expect(terraform.open(wanted, call())).rejects.toMatchObject({ retryable: true });
    expect(pods.started).toBe(1);
    Object.assign(pods.cluster, { readFile: read });
    const following = (await terraform.open(wanted, call())).apply(call());
    Object.assign(pods.cluster, { readFile: refuse });
    await writeFile(join(folder, 'go'), '');
    await following;
    expect(await readFile(join(folder, 'made'), 'utf8')).toBe('one\n');
    expect(state.held).toBeNull();
  });

  test('a worker whose deployment another one has takes nothing away', long, async () => {
    const wanted = run({ 'main.tf': '' });
    const lost = { type: 'DAVIT', store: state, admit: () => Promise.reject(new Error('the lease is lost')) } as const;
    await terraform.open(wanted, call());
    const read = pods.cluster.readFile.bind(pods.cluster);
    // The driver reads before the files have arrived.
    Object.assign(pods.cluster, { readFile: () => Promise.resolve(null) });
    await expect(terraform.open({ ...wanted, backend: lost }, call())).rejects.toThrow('the lease is lost');
    Object.assign(pods.cluster, { readFile: read });
    expect((await terraform.open(wanted, call())).isNew).toBe(false);
    expect(pods.started).toBe(1);
  });

  test('a cancel has the command end in order; with force it is not waited for', long, async () => {
    const wanted = run({ 'main.tf': waiting() });
    const session = await terraform.open(wanted, call());
    await session.init(call());
    await session.plan(call());
    const cancel = new AbortController();
    const applying = session.apply(call({ signal: cancel.signal, leave: new AbortController().signal }));
    await isMade();
    cancel.abort();
    await expect(applying).rejects.toThrow('aborted');
    expect(lines.join('\n')).toContain('Interrupt received');
    expect(state.held).toBeNull();
    const other = run({}, { id: id.replace('0c1f', '0c20') });
    const again = await terraform.open(other, call());
    await again.init(call());
    await again.plan(call());
    await rm(join(folder, 'made'));
    const force = new AbortController();
    const forced = again.apply(call({ signal: force.signal, force: force.signal }));
    await isMade();
    force.abort();
    await expect(forced).rejects.toThrow('aborted');
    expect(state.held).not.toBeNull();
  });

  test('a pod that goes in the middle is told, and no command is begun again in its place', long, async () => {
    const wanted = run({ 'main.tf': waiting() });
    const session = await terraform.open(wanted, call());
    await session.init(call());
    await session.plan(call());
    const applying = session.apply(call());
    applying.catch(() => undefined);
    await isMade();
    pods.kill(id, 'SIGKILL');
    await expect(applying).rejects.toMatchObject({ code: 'TERRAFORM_INTERRUPTED' });
    const next = await terraform.open(wanted, call());
    await expect(next.apply(call())).rejects.toMatchObject({ code: 'TERRAFORM_INTERRUPTED' });
    expect(await readFile(join(folder, 'made'), 'utf8')).toBe('one\n');
  });

  test('a state that cannot be stored is stored as soon as it can be, or kept on this machine', long, async () => {
    const wanted = run({ 'main.tf': waiting() });
    const session = await terraform.open(wanted, call());
    await session.init(call());
    await session.plan(call());
    state.write = () => Promise.reject(new Error('refused'));
    const applying = session.apply(call());
    applying.catch(() => undefined);
    await isMade();
    await writeFile(join(folder, 'go'), '');
    await expect(applying).rejects.toMatchObject({ code: 'TERRAFORM_FAILED' });
    expect(await terraform.hasUnstoredState(wanted.folder, wanted.rootPath)).toBe(true);
  });

  test('what is left of a run ends in order, and a state that it could not store is told', long, async () => {
    const wanted = run({ 'main.tf': waiting(), 'errored.tfstate': '{"committed": true}' });
    const session = await terraform.open(wanted, call());
    await session.init(call());
    await session.plan(call());
    const left = new AbortController();
    const applying = session.apply(call({ signal: left.signal, leave: left.signal }));
    await isMade();
    left.abort();
    await expect(applying).rejects.toThrow('aborted');
    state.write = () => Promise.reject(new Error('refused'));
    expect(await terraform.end({ ...wanted.owner, runs: ['another'] }, 60, call())).toEqual([]);
    expect(pods.log(id)).not.toContain('Interrupt received');
    const [found, ...others] = await terraform.end(wanted.owner, 60, call());
    expect(others).toEqual([]);
    expect(found?.runId).toBe(id);
    expect(JSON.parse(found?.state ?? '')).toMatchObject({ version: 4, serial: expect.any(Number) });
    expect(pods.log(id)).toContain('Interrupt received');
  });

  test('another version than is asked for, and a folder that is not there, are told', long, async () => {
    await expect(terraform.open(run({}, { version: '0.0.1' }), call())).rejects.toMatchObject({
      code: 'TERRAFORM_VERSION_UNAVAILABLE',
      message: expect.stringContaining('the image docker.io/hashicorp/terraform:0.0.1 has 1.'),
    });
    const elsewhere = run({}, { id: id.replace('0c1f', '0c20'), rootPath: '/elsewhere' });
    await expect(terraform.open(elsewhere, call())).rejects.toMatchObject({ code: 'TERRAFORM_FILES_MISSING' });
  });
});

test('a pod into which nobody can have put anything is made anew, and ended', long, async () => {
  const owner = run({}).owner;
  const instance: Instance = {
    id: 'n/infra-0',
    name: 'infra-0',
    environment: owner.environment,
    service: owner.service,
    release: 'r',
    rollout: id,
    index: 0,
    state: 'RUNNING',
    startedAt: null,
    exit: null,
    endpoints: [],
  };
  const cluster: ClusterDriver = {
    ...pods.cluster,
    observe: () => Promise.resolve([instance]),
    readFile: () => Promise.reject(new FolderNotHeldError('its container helper waits')),
  };
  const unheld = new ClusterTerraform({ cluster, address: 'http://davit', images: defaultImages });
  expect(await unheld.end(owner, 60, call())).toEqual([]);
  // The driver does not resume with that pod: it looks for the files for a new pod.
  await expect(unheld.open(run({}, { rootPath: '/elsewhere' }), call())).rejects.toMatchObject({
    code: 'TERRAFORM_FILES_MISSING',
  });
});
