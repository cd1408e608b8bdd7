import { randomUUID } from 'node:crypto';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { statement } from '@davit/db';
import type { FakeCluster, Instance } from '@davit/drivers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { BackupKind, BackupSubject, BackupView, RestoreView } from '../port.ts';
import { readToolTarget, noteKey, noteStored, readSealed } from '../store/backups.ts';
import { Sites } from '../testing/sites.ts';
import { createTestEngine, eventually, service, type TestEngine } from '../testing/test-engine.ts';

const beginAnew = statement('test_begin_backup_anew', 'update database_backup set attempt = attempt + 1 where id = $1');
const password = 'sesame-of-the-database';
let fixture: TestEngine;
/** The cluster of the databases that are backed up. */
let cluster: FakeCluster;
let owner: { serviceId: string; organizationId: string; environmentId: string; subject: BackupSubject };

beforeEach(async () => {
  fixture = await createTestEngine();
  cluster = fixture.fake;
  owner = await newDatabase();
});
afterEach(() => fixture.close());

/** Deploys a service that is treated as a database. */
async function newDatabase(environment = fixture.environment) {
  const deployed = service();
  const passwordSecretId = randomUUID();
  fixture.secrets.set(passwordSecretId, password);
  await fixture.deploy([deployed], { environment });
  await fixture.reaches(deployed.serviceId, 'DEPLOYED');
  const at = { host: 'z1-postgresql', port: 5432, login: 'postgres', database: 'postgres' };
  const subject: BackupSubject = { name: 'store', type: 'POSTGRESQL', version: '15', ...at, passwordSecretId };
  return { serviceId: deployed.serviceId, organizationId: randomUUID(), environmentId: environment.environmentId, subject };
}

async function add(kind: BackupKind = 'MANUAL', of = owner): Promise<BackupView> {
  const request = { ...of, name: 'one', message: '', kind };
  const view = await fixture.database.database.transaction((tx) => fixture.engine.port.backups.add(tx, request));
  if (view === null) throw new Error('one is under way already');
  return view;
}

const read = (id: string): Promise<BackupView | null> => fixture.engine.port.backups.read(fixture.database.database, id);

async function ended(id: string): Promise<BackupView> {
  return eventually(async () => {
    const view = await read(id);
    return view !== null && view.finished_at !== null ? view : undefined;
  }, 'the end of the backup');
}

const benchOf = (id: string): Instance | undefined =>
  cluster.instances.find((one) => one.service === id && one.state === 'RUNNING');

/** Returns the bench in which this script works for a backup or restore. */
async function tool(id: string, script: string): Promise<Instance> {
  return eventually(async () => {
    await Promise.resolve();
    const found = benchOf(id);
    const command = found === undefined ? undefined : cluster.workloads.get(found.id)?.entrypoint.join(' ');
    return command?.includes(script) === true ? found : undefined;
  }, `a bench with ${script}`);
}

async function anotherBench(id: string, former: Instance): Promise<void> {
  await eventually(async () => {
    await Promise.resolve();
    const now = benchOf(id);
    return now !== undefined && now.id !== former.id ? true : undefined;
  }, 'another bench');
}

/** Lets the dump of a backup succeed. */
async function dumped(id: string, content = 'all of the data'): Promise<void> {
  const instance = await tool(id, 'dump.sh');
  cluster.write(instance.id, '/davit/out/backup/facts', 'version 15.8\nbytes 4096\n');
  cluster.write(instance.id, '/davit/out/backup', content);
  cluster.kill(instance.id, 0);
}

/** Ends a script that reads a backup. */
async function given(id: string, script: string, code = 0, line = ''): Promise<void> {
  await eventually(async () => {
    await Promise.resolve();
    const puts = cluster.calls.filter(({ method, service: of }) => method === 'putInto' && of === id);
    return puts.length >= 2 ? true : undefined;
  }, 'the files of the backup');
  const instance = await tool(id, script);
  if (line !== '') cluster.print(instance.id, line);
  cluster.kill(instance.id, code);
}

const files = (): Promise<string[]> => readdir(path.join(fixture.workFolder, 'backups'));
const tools = (): Instance[] => fixture.fake.instances.filter(({ service: id }) => id !== owner.serviceId);

describe('a backup', () => {
  test('is dumped, stored encrypted, and good only once a restore of it succeeded', async () => {
    const { id } = await add();
    await dumped(id);
    await tool(id, 'prove.sh');
    expect(await read(id)).toMatchObject({ status: 'RUNNING', server_version: '15.8', data_bytes: 4096, proven_at: null });
    await given(id, 'prove.sh');
    const view = await ended(id);
    expect(view).toMatchObject({ status: 'GOOD', failure: null, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const stored = await readFile(path.join(fixture.workFolder, 'backups', `${id}.backup`));
    expect(stored.length).toBe(view.size_bytes);
    expect(stored.toString('latin1')).not.toContain('all of the data');
    expect(tools()).toEqual([]);
  });

  test('works in an instance of its own that has no volume, and the password in its environment only', async () => {
    const { id } = await add();
    const instance = await tool(id, 'dump.sh');
    const workload = fixture.fake.workloads.get(instance.id);
    expect(workload).toMatchObject({ volumes: [], ports: [], owner: { service: id } });
    const values = Object.fromEntries(workload?.environment.map(({ name, value }) => [name, value.reveal()]) ?? []);
    expect(values).toMatchObject({ DAVIT_HOST: 'z1-postgresql', DAVIT_PORT: '5432', DAVIT_PASSWORD: password });
    expect(JSON.stringify([workload?.entrypoint, workload?.arguments])).not.toContain(password);
  });

  test('whose tool fails has failed with its exit code and last lines, the password taken out of them', async () => {
    const { id } = await add();
    const instance = await tool(id, 'dump.sh');
    fixture.fake.print(instance.id, `cannot connect with ${password}`);
    fixture.fake.kill(instance.id, 2);
    const { status, failure } = await ended(id);
    expect({ status, failure }).toMatchObject({
      status: 'FAILED',
      failure: { code: 'BACKUP_FAILED', evidence: { exit: { code: 2 }, lines: [expect.stringContaining('cannot connect')] } },
    });
    expect(JSON.stringify(failure)).not.toContain(password);
    expect(tools()).toEqual([]);
    await expect(files()).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('that cannot be restored, or has other data then, is not good', async () => {
    const { id } = await add();
    await dumped(id);
    await given(id, 'prove.sh', 65, '-rows of visit|3');
    expect(await ended(id)).toMatchObject({
      status: 'FAILED',
      proven_at: null,
      failure: { code: 'BACKUP_NOT_PROVEN', evidence: { lines: ['-rows of visit|3'] } },
    });
    expect(tools()).toEqual([]);
  });

  test('of a database that was stopped meanwhile has failed and says why', async () => {
    await fixture.deploy([{ ...service(), serviceId: owner.serviceId }], { action: 'STOP' });
    await fixture.reaches(owner.serviceId, 'STOPPED');
    const { id } = await add();
    expect((await ended(id)).failure).toMatchObject({ code: 'NEVER_DEPLOYED', message: expect.stringContaining('store') });
  });

  test('goes on after a restart: what is not stored is dumped anew, what is stored is only proven', async () => {
    const { id } = await add();
    const first = await tool(id, 'dump.sh');
    await fixture.restart();
    await anotherBench(id, first);
    await dumped(id);
    const proving = await tool(id, 'prove.sh');
    await fixture.restart();
    await anotherBench(id, proving);
    const dumps = fixture.fake.calls.filter(({ method }) => method === 'takeOut');
    expect(dumps).toHaveLength(1);
    await given(id, 'prove.sh');
    expect(await ended(id)).toMatchObject({ status: 'GOOD', attempt: 3 });
    expect(await files()).toEqual([`${id}.backup`]);
  });

  test('that another process has made meanwhile keeps the file of that process', async () => {
    const { id } = await add();
    const file = path.join(fixture.workFolder, 'backups', `${id}.backup`);
    // As on a machine that was suspended until the other process had finished.
    const before = async ({ method }: { readonly method: string }): Promise<void> => {
      if (method !== 'takeOut') return;
      await fixture.database.database.run(beginAnew, [id]);
      await mkdir(path.dirname(file));
      await writeFile(file, 'of the other process');
    };
    const first = await tool(id, 'dump.sh');
    fixture.fake.script = { before };
    await dumped(id);
    await anotherBench(id, first);
    expect(await readFile(file, 'utf8')).toBe('of the other process');
    expect(await files()).toEqual([`${id}.backup`]);
  });

  test('is good, and dumped once, also when the database was away for a moment each time that it was needed', async () => {
    const failing = new Set<unknown>([readToolTarget, noteKey, noteStored, readSealed]);
    await fixture.restart((requested) => failing.delete(requested));
    const { id } = await add();
    await tool(id, 'dump.sh');
    // The key is recorded once more before the file gets its final name.
    failing.add(noteKey);
    await dumped(id);
    await given(id, 'prove.sh');
    expect(await ended(id)).toMatchObject({ status: 'GOOD', failure: null, attempt: 1 });
    expect(failing).toEqual(new Set());
    expect(fixture.fake.calls.filter(({ method }) => method === 'takeOut')).toHaveLength(1);
  });

  test('that is removed while it is made is ended, and nothing of it is left', async () => {
    const { id } = await add();
    await dumped(id);
    await tool(id, 'prove.sh');
    await fixture.database.database.transaction((tx) => fixture.engine.port.backups.remove(tx, id));
    expect(await read(id)).toBeNull();
    await eventually(async () => ((await files()).length === 0 ? true : undefined), 'an empty folder');
    // The keeper, woken by an event, finds benches that nobody needs.
    fixture.fake.kill(benchOf(id)?.id ?? '', 1);
    await eventually(async () => {
      await Promise.resolve();
      return tools().length === 0 ? true : undefined;
    }, 'no bench');
  });

  test('waits for the one before it of the same database, and not for those of others', async () => {
    const other = await newDatabase();
    const [first, second, third] = [await add(), await add(), await add('MANUAL', other)];
    await tool(first.id, 'dump.sh');
    await tool(third.id, 'dump.sh');
    expect(benchOf(second.id)).toBeUndefined();
    await dumped(first.id);
    await given(first.id, 'prove.sh');
    await tool(second.id, 'dump.sh');
  });

  test('waits for a cluster that does not answer, and takes no place from others meanwhile', async () => {
    await fixture.close();
    const sites = new Sites();
    const east = sites.add('east');
    fixture = await createTestEngine({ backupsAtOnce: 1 }, sites);
    cluster = fixture.fake;
    const [away, here] = [await newDatabase(east.environment), await newDatabase()];
    east.onCall = ({ method }) => {
      if (method === 'start') east.isDown = true;
    };
    const { id } = await add('MANUAL', away);
    await eventually(async () => (((await read(id))?.attempt ?? 0) > 0 ? true : undefined), 'its first attempt');
    const other = await add('MANUAL', here);
    await dumped(other.id);
    await given(other.id, 'prove.sh');
    expect(await ended(other.id)).toMatchObject({ status: 'GOOD' });
    expect(await read(id)).toMatchObject({ status: 'RUNNING', failure: null });
    east.onCall = null;
    east.isDown = false;
    cluster = east.fake;
    await dumped(id);
    await given(id, 'prove.sh');
    expect(await ended(id)).toMatchObject({ status: 'GOOD', failure: null });
  });

  test('has failed when its cluster is away for longer than anything waits', async () => {
    await fixture.close();
    const sites = new Sites();
    const east = sites.add('east');
    fixture = await createTestEngine({ clusterWaitSeconds: 1 }, sites);
    const away = await newDatabase(east.environment);
    east.isDown = true;
    const { id } = await add('MANUAL', away);
    expect((await ended(id)).failure).toMatchObject({ code: 'CLUSTER_UNREACHABLE', message: expect.stringContaining('east') });
  });

  test('is ended when it takes longer than it may', async () => {
    await fixture.close();
    fixture = await createTestEngine({ backupTimeoutSeconds: 1 });
    cluster = fixture.fake;
    owner = await newDatabase();
    const { id } = await add();
    await tool(id, 'dump.sh');
    expect((await ended(id)).failure).toMatchObject({ code: 'BACKUP_TIMEOUT', message: expect.stringContaining('1 s') });
    // Nothing continues after the failure.
    expect(tools()).toEqual([]);
  });
});

test('of the scheduled backups of a database the newest good ones stay, and those that were asked for', async () => {
  const made: string[] = [];
  for (const kind of ['MANUAL', 'SCHEDULED', 'SCHEDULED', 'SCHEDULED'] as const) {
    const { id } = await add(kind);
    await dumped(id);
    await given(id, 'prove.sh');
    await ended(id);
    made.push(id);
  }
  const [manual, , ...newest] = made;
  const left = [manual, ...newest].map((id) => `${id}.backup`).toSorted();
  await eventually(async () => ((await files()).length === 3 ? true : undefined), 'three files');
  expect((await files()).toSorted()).toEqual(left);
});

test('of a database one scheduled backup is under way at most', async () => {
  await add('SCHEDULED');
  await expect(add('SCHEDULED')).rejects.toThrow('under way already');
  await add('MANUAL');
});

describe('a restore', () => {
  let backupId: string;
  async function backedUp(): Promise<void> {
    ({ id: backupId } = await add());
    await dumped(backupId);
    await given(backupId, 'prove.sh');
    await ended(backupId);
  }
  beforeEach(backedUp);

  async function restore(safetyId: string | null, of = owner): Promise<RestoreView> {
    const request = { ...of, backupId, safetyId };
    const view = await fixture.database.database.transaction((tx) => fixture.engine.port.backups.restore(tx, request));
    if (view === null) throw new Error('one is under way already');
    return view;
  }
  const over = (id: string): Promise<RestoreView> =>
    eventually(async () => {
      const all = await fixture.engine.port.backups.restores(fixture.database.database, owner.serviceId);
      return all.find((one) => one.id === id && one.finished_at !== null);
    }, 'the end of the restore');

  test('gives the backup to a script beside the database', async () => {
    const { id } = await restore(null);
    await given(id, 'restore.sh');
    expect(await over(id)).toMatchObject({ status: 'SUCCEEDED', failure: null });
    expect(tools()).toEqual([]);
  });

  test('of a backup that is damaged has failed, and the backup is not good any more', async () => {
    const [file = ''] = await files();
    const stored = path.join(fixture.input.settings.backupFolder, file);
    const content = await readFile(stored);
    content[content.length - 20] = (content[content.length - 20] ?? 0) ^ 0xff;
    await writeFile(stored, content);
    const { id } = await restore(null);
    cluster.kill((await tool(id, 'release.sh')).id, 0);
    expect(await over(id)).toMatchObject({ status: 'FAILED', failure: { code: 'BACKUP_DAMAGED' } });
    expect(await read(backupId)).toMatchObject({ status: 'FAILED', failure: { code: 'BACKUP_DAMAGED' } });
  });

  test('succeeds also when the database was away for a moment', async () => {
    let failures = 1;
    await fixture.restart((requested) => requested === readSealed && (failures -= 1) >= 0);
    const { id } = await restore(null);
    await given(id, 'restore.sh');
    expect(await over(id)).toMatchObject({ status: 'SUCCEEDED', failure: null });
    expect(failures).toBeLessThan(0);
  });

  test('begins when the safety backup is good', async () => {
    const safety = await add('SAFETY');
    const { id } = await restore(safety.id);
    await dumped(safety.id);
    expect(benchOf(id)).toBeUndefined();
    await given(safety.id, 'prove.sh');
    await given(id, 'restore.sh');
    expect((await over(id)).status).toBe('SUCCEEDED');
  });

  test('does not begin when the safety backup failed', async () => {
    const safety = await add('SAFETY');
    const { id } = await restore(safety.id);
    fixture.fake.kill((await tool(safety.id, 'dump.sh')).id, 1);
    expect(await over(id)).toMatchObject({
      status: 'FAILED',
      failure: { code: 'RESTORE_FAILED', message: expect.stringContaining('nothing was restored') },
    });
    const starts = fixture.fake.calls.filter(({ method, service: of }) => method === 'start' && of === id);
    expect(starts).toEqual([]);
  });

  test('is done again from its start by whoever comes after a crash, and refused beside another one', async () => {
    const { id } = await restore(null);
    const first = await tool(id, 'restore.sh');
    await expect(restore(null)).rejects.toThrow('under way already');
    const { backups } = fixture.engine.port;
    expect(await fixture.database.database.transaction((tx) => backups.remove(tx, backupId))).toBe('in use');
    await fixture.restart();
    await anotherBench(id, first);
    await given(id, 'restore.sh');
    expect((await over(id)).status).toBe('SUCCEEDED');
  });

  /** Ends the script that removes the leftovers of a restore. */
  async function released(id: string, code = 0, line = ''): Promise<void> {
    const instance = await tool(id, 'release.sh');
    if (line !== '') cluster.print(instance.id, line);
    cluster.kill(instance.id, code);
  }
  const isOpen = async (id: string): Promise<boolean> => {
    const all = await fixture.engine.port.backups.restores(fixture.database.database, owner.serviceId);
    return all.some((one) => one.id === id && one.finished_at === null);
  };

  test('that was killed has failed once what it left was taken back, and says what that found', async () => {
    const { id } = await restore(null);
    await given(id, 'restore.sh', 137, 'of the restore');
    await tool(id, 'release.sh');
    expect(await isOpen(id)).toBe(true);
    await released(id, 0, 'of the release');
    expect(await over(id)).toMatchObject({
      status: 'FAILED',
      failure: { code: 'RESTORE_FAILED', evidence: { exit: { code: 137 }, lines: ['of the restore', 'of the release'] } },
    });
    expect(tools()).toEqual([]);
  });

  test('whose instance is removed has failed once what it left was taken back', async () => {
    const { id } = await restore(null);
    await tool(id, 'restore.sh');
    await cluster.cluster.retire({ service: id }, 0, { signal: new AbortController().signal, log: () => undefined });
    await released(id);
    expect((await over(id)).failure).toMatchObject({ code: 'RESTORE_FAILED', message: expect.stringContaining('removed') });
  });

  test('whose time is over is ended, and told to have failed once what it left was taken back', async () => {
    await fixture.close();
    fixture = await createTestEngine({ backupTimeoutSeconds: 4 });
    cluster = fixture.fake;
    owner = await newDatabase();
    await backedUp();
    const { id } = await restore(null);
    const restoring = await tool(id, 'restore.sh');
    await tool(id, 'release.sh');
    expect(cluster.instances.map((one) => one.id)).not.toContain(restoring.id);
    await released(id);
    expect((await over(id)).failure).toMatchObject({ code: 'BACKUP_TIMEOUT' });
    expect(tools()).toEqual([]);
  });

  test('says so where what it left could not be taken back', async () => {
    const { id } = await restore(null, { ...owner, subject: { ...owner.subject, type: 'REDIS' } });
    await given(id, 'restore.sh', 137);
    await released(id, 1, 'nobody answers');
    expect((await over(id)).failure).toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.stringContaining('may refuse all writes'),
      hint: expect.stringContaining('answers'),
      evidence: { lines: ['nobody answers'] },
    });
  });

  test('that was killed is done again where its cluster goes away before what it left is taken back', async () => {
    await fixture.close();
    const sites = new Sites();
    const east = sites.add('east');
    fixture = await createTestEngine({}, sites);
    cluster = east.fake;
    owner = await newDatabase(east.environment);
    await backedUp();
    const { id } = await restore(null);
    let starts = 0;
    east.onCall = ({ method }) => {
      if (method === 'start' && (starts += 1) === 2) east.isDown = true;
    };
    await given(id, 'restore.sh', 137);
    await eventually(() => Promise.resolve(east.isDown || undefined), 'a cluster that is away');
    expect(await isOpen(id)).toBe(true);
    east.onCall = null;
    east.isDown = false;
    await given(id, 'restore.sh');
    expect(await over(id)).toMatchObject({ status: 'SUCCEEDED', failure: null });
  });

  test('of a database that was stopped has failed with nothing to take back', async () => {
    const { id } = await restore(null);
    const instance = await tool(id, 'restore.sh');
    await fixture.deploy([{ ...service(), serviceId: owner.serviceId }], { action: 'STOP' });
    await fixture.reaches(owner.serviceId, 'STOPPED');
    cluster.kill(instance.id, 1);
    expect((await over(id)).failure).toMatchObject({
      code: 'RESTORE_FAILED',
      message: expect.not.stringContaining('undone'),
    });
  });

  test('of a type that is restored in place leaves nothing to take back', async () => {
    const { id } = await restore(null, { ...owner, subject: { ...owner.subject, type: 'MYSQL' } });
    await given(id, 'restore.sh', 137);
    expect((await over(id)).failure?.code).toBe('RESTORE_FAILED');
    expect(cluster.calls.filter(({ method, service: of }) => method === 'start' && of === id)).toHaveLength(1);
  });
});
