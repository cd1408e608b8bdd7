import assert from 'node:assert/strict';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { serverAddress } from '../../packages/testkit/src/database.ts';
import { testEnginesFolder } from '../../packages/testkit/src/engines.ts';
import { eventually } from '../support/eventually.ts';
import type { TestSetup } from '../support/setup.ts';
import type {
  CrashCase as AnyCrashCase,
  EngineSubjectName as SubjectName,
} from '../../packages/engine/src/testing/crash/cases.ts';
import type { Subject } from './subjects.ts';

type CrashCase = AnyCrashCase<SubjectName>;

const paths = { DEPLOY: '/deploy', RESTART: '/restart-service', STOP: '/stop', UNINSTALL: '/uninstall', DELETE: '' } as const;
/** The state of a service after each action. */
export const ends = { DEPLOY: 'DEPLOYED', RESTART: 'RESTARTED', STOP: 'STOPPED', UNINSTALL: 'READY', DELETE: 'gone' } as const;

/** A service shared by the cases of its kind, with its expected state. */
interface Life {
  readonly id: string;
  text: string;
  mark: string | undefined;
}

export interface Survived {
  /**
   * Milliseconds from the start of the server until it responded (`answered`) and until the deployment resumed
   * (`resumed`).
   */
  readonly answered: number;
  readonly resumed: number;
}

/** Runs cases on one stage, one after the other. */
export class Survival {
  readonly #setup: TestSetup;
  readonly #subjects: Readonly<Record<SubjectName, Subject>>;
  readonly #lives = new Map<SubjectName, Life>();
  /** Services of failed cases. They stay as the failed case left them. */
  readonly #given: string[] = [];
  #count = 0;

  constructor(setup: TestSetup, subjects: Readonly<Record<SubjectName, Subject>>) {
    this.#setup = setup;
    this.#subjects = subjects;
  }

  /**
   * Runs the action with its fault and checks:
   * - The action ends by itself.
   * - The world is then as if the fault had not happened. If the fault may fail the action, this holds once the action
   *   has been requested again.
   * - No data is lost.
   * - A canceled action leaves the former state, unless that is no longer possible.
   */
  async run(one: CrashCase): Promise<{ readonly state: string; readonly times: Survived | null }> {
    try {
      return await this.#run(one);
    } catch (error) {
      // The next case starts with a new service and a running server.
      const life = this.#lives.get(one.subject);
      if (life !== undefined) this.#given.push(life.id);
      this.#lives.delete(one.subject);
      await this.#setup.davit.recover();
      throw error;
    }
  }

  async #run(one: CrashCase): Promise<{ readonly state: string; readonly times: Survived | null }> {
    const subject = this.#subjects[one.subject];
    const life = await this.#prepared(one.subject);
    const { id } = life;
    const before = life.text;
    if (one.action === 'DEPLOY') await subject.change(id, (life.text = this.#text()));
    const printed = await subject.output?.(id);

    this.#setup.davit.order(one.point, one.fault === 'killed' ? 'kill' : 'hold');
    const former = await this.#newest();
    await this.#ask(subject, id, one.action);
    const times = await this.#suffer(one, former);
    const mayFail = one.fault === 'engine restarted' || one.fault === 'disk full' || one.fault === 'canceled';
    const state = await this.#state(subject, id);
    if (mayFail && state !== ends[one.action]) {
      assert.match(state, one.fault === 'canceled' ? /^CANCELED$/ : /_ERROR$/);
      if (one.fault === 'canceled') await this.#running(subject, { ...life, text: before });
      const again = await this.#newest();
      await this.#ask(subject, id, one.action);
      await this.#ended(again);
    }
    assert.equal(await this.#state(subject, id), ends[one.action], await this.#setup.log());
    await this.#check(one, life);
    // A run that the engine interrupted is repeated only by the next request.
    if (!mayFail && printed !== undefined) await this.#printedOnce(one, life, printed.length);
    return { state: ends[one.action], times };
  }

  /** Returns a deployed service of this kind, with its data unchanged. */
  async #prepared(name: SubjectName): Promise<Life> {
    const subject = this.#subjects[name];
    let life = this.#lives.get(name);
    if (life === undefined) {
      const text = this.#text();
      life = { id: await subject.create(text), text, mark: undefined };
      this.#lives.set(name, life);
    }
    const state = await this.#state(subject, life.id);
    if (state !== 'DEPLOYED' && state !== 'RESTARTED') {
      const former = await this.#newest();
      await this.#ask(subject, life.id, 'DEPLOY');
      await this.#ended(former);
      assert.equal(await this.#state(subject, life.id), 'DEPLOYED', await this.#setup.log());
    }
    await this.#running(subject, life);
    return life;
  }

  async #running(subject: Subject, life: Life): Promise<void> {
    // Former instances end beside and after the deployment.
    const isAlone = async () => ((await this.#setup.containers(life.id)).length === subject.instances ? true : undefined);
    await eventually(isAlone, `${subject.instances} instances`);
    assert.equal(await subject.shown(life.id), life.text);
    const mark = await subject.mark?.(life.id);
    life.mark ??= mark;
    assert.equal(mark, life.mark);
  }

  async #suffer(one: CrashCase, former: string | undefined): Promise<Survived | null> {
    const { davit } = this.#setup;
    if (one.fault === 'killed') {
      await davit.exited();
      const restarted = Date.now();
      await davit.serve();
      const answered = Date.now() - restarted;
      // After these points the deployment is over, so there is nothing to resume.
      const isOver = one.point === 'finish:after' || one.point.startsWith('end:');
      const moves = isOver ? Date.now() : await eventually(() => this.#setup.resumedAt(restarted), 'the deployment to go on');
      await this.#ended(former);
      return { answered, resumed: moves - restarted };
    }
    await davit.holds();
    if (one.fault === 'database cut') await this.#cutDatabase();
    if (one.fault === 'engine restarted') {
      await this.#setup.engine.restart();
      davit.release();
    }
    if (one.fault === 'canceled') {
      const { environmentId } = this.#setup;
      await davit.client.call('cancelEnvironmentDeployment', { params: { environmentId }, body: {} });
      davit.release();
    }
    const filler = one.fault === 'disk full' ? fillDisk(this.#setup.engine.kind) : null;
    if (filler !== null) davit.release();
    try {
      await this.#ended(former);
    } finally {
      if (filler !== null) rmSync(filler);
    }
    return null;
  }

  /** Blocks connections to the database until the server has noticed. */
  async #cutDatabase(): Promise<void> {
    const { davit } = this.#setup;
    const name = new URL(davit.database.connectionString).pathname.slice(1);
    const client = new Client({ connectionString: serverAddress() });
    await client.connect();
    try {
      await client.query(`alter database ${name} allow_connections false`);
      await client.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [name]);
      davit.release();
      await eventually(async () => ((await fetch(`${davit.url}/readyz`)).status === 503 ? true : undefined), 'it to be noticed');
    } finally {
      await client.query(`alter database ${name} allow_connections true`);
      await client.end();
    }
    // The server notices a cut idle connection only at its next use.
    const all = async (): Promise<unknown> =>
      Promise.all(Array.from({ length: 20 }, () => this.#newest())).catch(() => undefined);
    await eventually(all, 'the server to have its database back');
  }

  async #check(one: CrashCase, life: Life): Promise<void> {
    const subject = this.#subjects[one.subject];
    const stays = one.action === 'DEPLOY' || one.action === 'RESTART';
    if (stays) await this.#running(subject, life);
    else assert.deepEqual(await this.#setup.containers(life.id), []);
    const removes = one.action === 'UNINSTALL' || one.action === 'DELETE';
    if (removes) {
      assert.deepEqual(await this.#volumes(life.id), []);
      life.mark = undefined;
    }
    if (one.action === 'DELETE') this.#lives.delete(one.subject);
    await this.#nothingElse();
  }

  /** Checks that everything that Davit has on the engine belongs to an existing service. */
  async #nothingElse(): Promise<void> {
    const known = [...this.#given, ...[...this.#lives.values()].map(({ id }) => id)];
    const strangers = (await this.#setup.containers()).filter(({ Labels }) => !known.includes(Labels['davit.service'] ?? ''));
    assert.deepEqual(
      strangers.map(({ Names, Labels }) => ({ Names, Labels })),
      [],
    );
    assert.ok((await this.#setup.networks()).length <= 1);
  }

  async #volumes(id: string): Promise<readonly string[]> {
    const { Volumes } = await this.#setup.docker.listVolumes();
    // Podman returns null if there are no volumes.
    return (Volumes ?? []).filter(({ Labels }) => Object.values(Labels ?? {}).includes(id)).map(({ Name }) => Name);
  }

  /** Checks that the output of this action's run was stored exactly once. */
  async #printedOnce({ action, subject }: CrashCase, { id, text }: Life, before: number): Promise<void> {
    // The log is deleted together with the job.
    if (action === 'DELETE' || action === 'UNINSTALL') return;
    const lines = (await this.#subjects[subject].output?.(id))?.slice(before);
    const event = { DEPLOY: [`begin ${text}`, `end ${text}`], STOP: [`stop ${text}`], RESTART: [] };
    assert.deepEqual(lines, subject === 'job' ? event[action] : []);
  }

  async #ask(subject: Subject, id: string, action: CrashCase['action']): Promise<void> {
    const method = action === 'DELETE' ? 'DELETE' : 'POST';
    await this.#setup.davit.ask(method, `/${subject.noun}/${id}${paths[action]}`);
  }

  async #state({ noun }: Subject, id: string): Promise<string> {
    const { environmentId } = this.#setup;
    const all = await this.#setup.davit.client.call('getEnvironmentStatuses', { params: { environmentId } });
    const lists: Readonly<Record<Subject['noun'], readonly { readonly id: string; readonly state: string }[]>> = {
      application: all.applications ?? [],
      container: all.containers ?? [],
      database: all.databases ?? [],
      job: all.jobs ?? [],
      terraform: all.terraforms ?? [],
    };
    return lists[noun].find((one) => one.id === id)?.state ?? 'gone';
  }

  async #newest(): Promise<string | undefined> {
    const { environmentId } = this.#setup;
    const { results } = await this.#setup.davit.client.call('listEnvironmentDeploymentHistoryV2', { params: { environmentId } });
    return results[0]?.identifier.execution_id;
  }

  async #ended(former: string | undefined): Promise<void> {
    try {
      await this.#setup.idleAfter(async () => (await this.#newest()) !== former);
    } catch (error) {
      throw new Error(`${await this.#setup.log()}\n${this.#setup.davit.output.split('\n').slice(-20).join('\n')}`, {
        cause: error,
      });
    }
  }

  #text(): string {
    this.#count += 1;
    return `text-${this.#count}`;
  }
}

/** Returns the folder at which a separate file system must be mounted for the cases of a full disk. */
export function engineDisk(kind: string): string {
  return join(testEnginesFolder(), kind);
}

/** Fills the disk. Returns the path of the file that takes the space. */
function fillDisk(kind: string): string {
  const file = join(engineDisk(kind), 'in-the-way');
  const descriptor = openSync(file, 'w');
  try {
    for (const size of [4 * 1024 * 1024, 4096, 1]) writeUntilFull(descriptor, Buffer.alloc(size));
  } finally {
    closeSync(descriptor);
  }
  return file;
}

function writeUntilFull(descriptor: number, block: Buffer): void {
  for (;;) {
    try {
      writeSync(descriptor, block);
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return;
      throw error;
    }
  }
}
