import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { TerraformRun, TerraformSession } from '../terraform-driver.ts';
import { Terraform } from './terraform.ts';
import { hasTerraform, MemoryState, testRun } from './testing.ts';

const terraform = new Terraform({ TERRAFORM: 'terraform', OPEN_TOFU: null });
let folder: string;
let state: MemoryState;
let lines: string[];
let sessions: TerraformSession[];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'davit-terraform-'));
  state = new MemoryState();
  lines = [];
  sessions = [];
});
afterEach(async () => {
  for (const session of sessions) await session.close();
  await rm(folder, { recursive: true, force: true });
});

const call = (signal = new AbortController().signal) => ({ signal, log: (line: string) => void lines.push(line) });

async function run(files: Readonly<Record<string, string>>, overrides: Partial<TerraformRun> = {}): Promise<TerraformRun> {
  const root = join(folder, 'source', 'infra');
  await mkdir(root, { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(root, name), text);
  const backend = { type: 'DAVIT', store: state, admit: () => Promise.reject(new Error('it is here')) } as const;
  return testRun({ folder, backend, ...overrides });
}

async function open(wanted: TerraformRun): Promise<TerraformSession> {
  const session = await terraform.open(wanted, call());
  sessions.push(session);
  return session;
}

const hello = `
variable "greeting" { type = string }
variable "names" {
  type    = list(string)
  default = []
}
resource "terraform_data" "hello" { input = "\${var.greeting} \${join(",", var.names)}" }
output "said" { value = terraform_data.hello.output }
output "hidden" {
  value     = { a = [1, 2] }
  sensitive = true
}
`;

describe.skipIf(!hasTerraform)('terraform', () => {
  test('plans, applies, tells its outputs and destroys, its state being with the store', { timeout: 120_000 }, async () => {
    const variables = { greeting: `it's "good" $HOME \\`, names: '["a b", "c"]' };
    const wanted = await run({ 'main.tf': hello }, { variables });
    const planning = await open(wanted);
    await planning.init(call());
    expect(await planning.plan(call())).toEqual({ changes: true });
    expect(state.state).toBeNull();
    await planning.close();
    // Another Davit process has another address and password.
    const applying = await open(wanted);
    expect(await applying.wasApplied()).toBe(false);
    await applying.apply(call());
    // A process that does not know of the apply must not apply that plan again.
    expect(await applying.wasApplied()).toBe(true);
    expect(JSON.parse(state.state ?? '')).toMatchObject({ resources: [{ type: 'terraform_data', name: 'hello' }] });
    expect(state.held).toBeNull();
    expect(await applying.outputs(call())).toEqual([
      { name: 'hidden', value: '{"a":[1,2]}', sensitive: true },
      { name: 'said', value: `it's "good" $HOME \\ a b,c`, sensitive: false },
    ]);
    expect(await applying.resources(call())).toEqual([
      {
        address: 'terraform_data.hello',
        mode: 'managed',
        type: 'terraform_data',
        name: 'hello',
        provider: 'terraform.io/builtin/terraform',
        attributes: expect.objectContaining({ output: `it's "good" $HOME \\ a b,c` }),
      },
    ]);
    expect(await applying.plan(call())).toEqual({ changes: false });
    expect(await applying.wasApplied()).toBe(false);
    expect(await applying.plan(call(), { destroy: true })).toEqual({ changes: true });
    await applying.apply(call());
    expect(JSON.parse(state.state ?? '')).toMatchObject({ resources: [] });
    expect(lines.join('\n')).toContain('Resources: 0 added, 0 changed, 1 destroyed.');
  });

  test('takes the backend of its own files where that is meant, and variables of files', { timeout: 60_000 }, async () => {
    const backend = `terraform {\n  backend "local" { path = "own.tfstate" }\n}\n`;
    const files = { 'main.tf': hello, 'backend.tf': backend, 'live.tfvars': 'greeting = "from a file"\n' };
    const wanted = await run(files, { backend: { type: 'FILES' }, variableFiles: ['live.tfvars'] });
    const session = await open(wanted);
    await session.init(call());
    await session.plan(call());
    await session.apply(call());
    expect(await readFile(join(folder, 'source/infra/own.tfstate'), 'utf8')).toContain('from a file');
    expect(state.state).toBeNull();
  });

  test('takes a backend of a type and its configuration', { timeout: 60_000 }, async () => {
    const backend = { type: 'local', config: { path: 'other.tfstate' } };
    const session = await open(await run({ 'main.tf': hello }, { backend, variables: { greeting: 'x' } }));
    await session.init(call());
    await session.plan(call());
    await session.apply(call());
    expect(await readFile(join(folder, 'source/infra/other.tfstate'), 'utf8')).toContain('terraform_data');
  });

  test('says what failed, and that a state is locked', { timeout: 60_000 }, async () => {
    const session = await open(await run({ 'main.tf': 'resource "terraform_data" "a" { input = var.missing }' }));
    await session.init(call());
    await expect(session.plan(call())).rejects.toMatchObject({
      code: 'TERRAFORM_FAILED',
      message: expect.stringContaining('Reference to undeclared input variable'),
    });
    state.held = { ID: 'somebody', Who: 'else' };
    await expect(session.plan(call())).rejects.toMatchObject({ code: 'TERRAFORM_STATE_LOCKED' });
  });

  test(
    'a state that cannot be locked as its store fails is not taken for one that somebody else has',
    { timeout: 60_000 },
    async () => {
      const session = await open(await run({ 'main.tf': hello }, { variables: { greeting: 'x' } }));
      await session.init(call());
      state.lock = () => Promise.reject(new Error('the store is away'));
      await expect(session.plan(call())).rejects.toMatchObject({
        code: 'TERRAFORM_FAILED',
        message: expect.stringContaining('Error acquiring the state lock'),
      });
    },
  );

  test('is stopped by its signal, in order: the state is stored and unlocked', { timeout: 60_000 }, async () => {
    const slow = `
resource "terraform_data" "first" { input = "made" }
resource "terraform_data" "slow" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" { command = "echo begun; sleep 60" }
}`;
    const session = await open(await run({ 'main.tf': slow }));
    await session.init(call());
    await session.plan(call());
    const stop = new AbortController();
    const log = (line: string): void => {
      if (line.includes('begun')) stop.abort();
    };
    await expect(session.apply({ signal: stop.signal, log })).rejects.toMatchObject({ name: 'AbortError' });
    expect(state.state).toContain('"first"');
    expect(state.held).toBeNull();
  });

  test('stores the state that a run before could not', { timeout: 60_000 }, async () => {
    const wanted = await run({ 'main.tf': hello }, { variables: { greeting: 'x' } });
    const first = await open(wanted);
    await first.init(call());
    await first.plan(call());
    // The process that serves the state exits while the program applies.
    const write = state.write.bind(state);
    state.write = () => Promise.reject(new Error('gone'));
    await expect(first.apply(call())).rejects.toMatchObject({ code: 'TERRAFORM_FAILED' });
    state.write = write;
    state.held = null;
    const second = await open(wanted);
    await second.init(call());
    expect(JSON.parse(state.state ?? '')).toMatchObject({ resources: [{ name: 'hello' }] });
    expect(await second.plan(call())).toEqual({ changes: false });
  });

  test('is refused where another version is asked for, and lists the one that is here', async () => {
    await expect(open(await run({}, { version: '0.0.1' }))).rejects.toMatchObject({ code: 'TERRAFORM_VERSION_UNAVAILABLE' });
    expect(await terraform.versions()).toEqual([{ engine: 'TERRAFORM', version: expect.stringMatching(/^\d+\.\d+/) }]);
  });
});

test('a program that is switched off or missing is said to be', async () => {
  await expect(open(await run({}, { engine: 'OPEN_TOFU' }))).rejects.toMatchObject({ code: 'TERRAFORM_UNAVAILABLE' });
  const nowhere = new Terraform({ TERRAFORM: '/nowhere/terraform', OPEN_TOFU: null });
  expect(await nowhere.versions()).toEqual([]);
  await expect(nowhere.open(await run({}), call())).rejects.toMatchObject({ code: 'TERRAFORM_UNAVAILABLE' });
});
