import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { statement } from '@davit/db';
import { DriverError, FakeTerraform, type FakeCall } from '@davit/drivers';
import type { EngineInput } from '../../index.ts';
import { interruptAtPoints } from '../../shared/crash-point.ts';
import { createTestEngine, eventually, type TestEngine } from '../test-engine.ts';
import type { CrashCase, Fault, SubjectName } from './cases.ts';
import { createMortal, type MortalEngine } from './mortal-engine.ts';
import { makeSubjects, requestOf, routeOf, running, type Subject } from './subjects.ts';

/** The state of a service after each action. A deleted service has no state. */
const ends = { DEPLOY: 'DEPLOYED', RESTART: 'RESTARTED', STOP: 'STOPPED', UNINSTALL: 'READY', DELETE: 'gone' } as const;
/** The engine call that fails on a full disk, by the step that makes the call. */
const fillingCalls: Readonly<Record<string, string>> = { build: 'build', pull: 'pull', start: 'start', launch: 'start' };
/** Faults that may fail the deployment, because the platform cannot recover from them by itself. */
const failingFaults: readonly Fault[] = ['engine restarted', 'disk full', 'canceled', 'killed while it is undone'];
/** Faults after which an unsuccessful deployment has restored the former release. */
const undoneFaults: readonly Fault[] = ['canceled', 'killed while it is undone'];

const openRows = statement<{ id: string; status: string }>(
  'test_crash_open_deployments',
  `select id, status from deployment where status in ('QUEUED', 'RUNNING')`,
);

/** Steps that would be shown as running for ever. */
const openSteps = statement<{ service_id: string; name: string }>(
  'test_crash_open_steps',
  `select service_id, name from deployment_step s join deployment d on d.id = s.deployment_id
    where s.status = 'RUNNING' and d.status <> 'RUNNING'`,
);

/** A service shared by the cases of its kind, with its expected state. */
interface Life {
  readonly id: string;
  /** The text that the service shows while it is deployed. */
  text: string;
}

/** Runs cases on one world, one after the other. */
export class Survival {
  readonly #fixture: TestEngine;
  readonly #input: EngineInput;
  readonly #subjects: Readonly<Record<SubjectName, Subject>>;
  readonly #lives = new Map<SubjectName, Life>();
  /** Services of failed cases. They stay as the failed case left them. */
  readonly #given: string[] = [];
  /** Number of command runs that have begun, by service. */
  readonly #runs = new Map<string, number>();
  readonly #watching = new AbortController();
  #engine: MortalEngine;
  #count = 0;

  static async open(): Promise<Survival> {
    const fixture = await createTestEngine({ lookEveryMilliseconds: 50, firstRetryMilliseconds: 10 });
    await fixture.engine.stop();
    const terraform = new FakeTerraform();
    Object.assign(fixture.fake.cluster, { charts: fixture.charts.charts });
    const survival = new Survival(fixture, {
      input: { ...fixture.input, terraform },
      subjects: makeSubjects(fixture, terraform),
    });
    await survival.#engine.start();
    return survival;
  }

  private constructor(fixture: TestEngine, parts: { input: EngineInput; subjects: Readonly<Record<SubjectName, Subject>> }) {
    this.#fixture = fixture;
    this.#input = parts.input;
    this.#engine = createMortal(parts.input);
    this.#subjects = parts.subjects;
    void fixture.fake.cluster.watch((event) => {
      if (event.type === 'STARTED') this.#endRun(event.service, event.instance);
    }, this.#watching.signal);
  }

  async close(): Promise<void> {
    interruptAtPoints(null);
    this.#watching.abort();
    await this.#engine.stop();
    await this.#fixture.close();
  }

  /**
   * Runs the action with its fault. The action must end by itself and leave the world as if the fault had not happened.
   * If the fault may fail the action, a failed action must leave the former state and succeed when it is requested
   * again.
   */
  async run(one: CrashCase): Promise<void> {
    try {
      await this.#run(one);
    } catch (error) {
      // The next case starts with a new service and a working engine.
      const life = this.#lives.get(one.subject);
      if (life !== undefined) this.#given.push(life.id);
      this.#lives.delete(one.subject);
      this.#fixture.fake.script = {};
      this.#engine.isCut = false;
      throw error;
    } finally {
      interruptAtPoints(null);
    }
  }

  async #run(one: CrashCase): Promise<void> {
    const subject = this.#subjects[one.subject];
    const life = await this.#prepared(one.subject);
    const former = life.text;
    const runsBefore = this.#runs.get(life.id) ?? 0;
    if (one.action === 'DEPLOY') life.text = this.#text();
    const fault = this.#arrange(one);
    const deployment = await this.#ask(subject, life, one.action);
    await fault.suffered;
    const outcome = await this.#fixture.ends(deployment);
    interruptAtPoints(null);
    this.#fixture.fake.script = {};
    const mayFail = failingFaults.includes(one.fault);
    if (mayFail && outcome !== 'SUCCEEDED') {
      assert.equal(outcome, one.fault === 'canceled' ? 'CANCELED' : 'FAILED');
      if (undoneFaults.includes(one.fault) && one.action !== 'RESTART') await this.#isAsBefore(one, { ...life, text: former });
      assert.equal(await this.#fixture.ends(await this.#ask(subject, life, one.action)), 'SUCCEEDED');
    }
    assert.equal(await this.#state(life.id), ends[one.action], await this.#log(deployment));
    await this.#check(one, life);
    // A run that the engine interrupted is repeated only by the next request.
    if (!mayFail && subject.runs === true) {
      const expected = one.action === 'RESTART' ? 0 : 1;
      assert.equal((this.#runs.get(life.id) ?? 0) - runsBefore, expected, 'the command of the job runs exactly once');
    }
  }

  /** Returns a deployed service of this kind. */
  async #prepared(name: SubjectName): Promise<Life> {
    const subject = this.#subjects[name];
    const life = this.#lives.get(name) ?? { id: randomUUID(), text: this.#text() };
    this.#lives.set(name, life);
    const state = await this.#state(life.id);
    if (state !== 'DEPLOYED' && state !== 'RESTARTED') {
      assert.equal(await this.#fixture.ends(await this.#ask(subject, life, 'DEPLOY')), 'SUCCEEDED');
    }
    await this.#isDeployed(subject, life);
    return life;
  }

  /**
   * Arranges for the fault at the point of the case. `suffered` resolves when the fault is over and the engine works
   * again.
   */
  #arrange(one: CrashCase): { readonly suffered: Promise<void> } {
    let left = one.fault === 'killed twice' ? 2 : 1;
    const suffered = Promise.withResolvers<void>();
    interruptAtPoints(async (point) => {
      if (point === one.failsAt) throw new Error('this step fails');
      if (point !== one.point || left === 0) return;
      left -= 1;
      const isLast = left === 0;
      if (one.fault.startsWith('killed')) {
        const killed = this.#engine;
        killed.kill();
        // The call is not awaited, because the killed engine ends only after this point has thrown.
        void this.#takeOver(killed).then(() => isLast && suffered.resolve(), suffered.reject);
        throw new Error('this process was killed');
      }
      await this.#strike(one).then(() => suffered.resolve(), suffered.reject);
    });
    return { suffered: within(suffered.promise, `${one.name} to happen`) };
  }

  async #takeOver(killed: MortalEngine): Promise<void> {
    await killed.stop();
    const engine = createMortal(this.#input);
    this.#engine = engine;
    try {
      await engine.start();
    } catch (error) {
      if (!engine.isDead) throw error;
    }
  }

  /** Applies the fault to the world while the deployment waits at its point. */
  async #strike(one: CrashCase): Promise<void> {
    switch (one.fault) {
      case 'canceled':
        return this.#fixture.engine.port.cancel(this.#fixture.environmentId, false);
      case 'database cut':
        return this.#cutDatabase();
      case 'engine restarted':
        return this.#restartCluster();
      case 'disk full':
        return this.#fillDisk(one.point.split(':')[0] ?? '');
      default:
        throw new Error(`${one.fault} is no fault that a deployment waits for`);
    }
  }

  /** Makes the database unreachable until one of the engine's statements has failed. */
  #cutDatabase(): Promise<void> {
    const before = this.#engine.refused;
    this.#engine.isCut = true;
    const noticed = async (): Promise<true | undefined> => (this.#engine.refused > before ? true : undefined);
    // The method does not wait: the deployment must leave its point, so that its next statement fails.
    void eventually(noticed, 'a statement that failed').finally(() => (this.#engine.isCut = false));
    return Promise.resolve();
  }

  /** Kills all processes and makes the cluster unreachable for the next calls. */
  #restartCluster(): Promise<void> {
    const { fake } = this.#fixture;
    for (const { id } of running(this.#fixture)) fake.kill(id, 137);
    let refused = 0;
    const before = (): void => {
      refused += 1;
      if (refused > 3) fake.script = {};
      else throw new DriverError({ cause: 'ENGINE_UNREACHABLE', message: 'connection refused', retryable: true });
    };
    fake.script = { before };
    return Promise.resolve();
  }

  /** Makes the engine call of the step fail once with a full disk. */
  #fillDisk(step: string): Promise<void> {
    const { fake } = this.#fixture;
    const before = ({ method }: FakeCall): void => {
      if (method !== fillingCalls[step]) return;
      fake.script = {};
      throw new DriverError({ cause: 'DISK_FULL', message: 'no space left on device' });
    };
    fake.script = { before };
    return Promise.resolve();
  }

  async #check(one: CrashCase, life: Life): Promise<void> {
    const subject = this.#subjects[one.subject];
    if (one.action === 'DEPLOY' || one.action === 'RESTART') await this.#isDeployed(subject, life);
    else await this.#isDown(one, life);
    if (one.action === 'DELETE') this.#lives.delete(one.subject);
    await this.#nothingElse();
  }

  /**
   * Checks that a canceled deployment restored the former release. A deployment past its point of no return reports
   * success instead.
   */
  async #isAsBefore(one: CrashCase, former: Life): Promise<void> {
    if (one.action === 'DEPLOY') await this.#isDeployed(this.#subjects[one.subject], former);
  }

  async #isDeployed(subject: Subject, { id, text }: Life): Promise<void> {
    const { engine, database, fake } = this.#fixture;
    const expected = Array.from({ length: subject.parts }, () => text);
    // The keeper restarts instances that died when the cluster restarted.
    await within(
      eventually(async () => (sameTexts(subject.shown(id), expected) ? true : undefined), 'what runs'),
      `${subject.serviceType} to show ${text}, not ${subject.shown(id).join()}`,
    );
    const deployed = await engine.port.deployedConfig(database.database, id);
    assert.deepEqual(deployed, subject.config(id, text));
    if (subject.hasVolume === true) assert.ok(fake.volumes.has(`volume-${id}`));
    if (subject.isPublic === true) {
      const route = () => fake.routes.http.find((one) => one.id === routeOf(id));
      await eventually(async () => ((route()?.backends.length ?? 0) > 0 ? true : undefined), 'a route that leads to it');
    }
  }

  async #isDown({ action, subject: name }: CrashCase, { id }: Life): Promise<void> {
    const subject = this.#subjects[name];
    const { fake } = this.#fixture;
    const isRemoved = action !== 'STOP';
    if (isRemoved || subject.staysWhenStopped !== true) assert.deepEqual(subject.shown(id), []);
    assert.deepEqual(
      fake.instances.filter((instance) => instance.service === id),
      [],
    );
    await eventually(
      async () => (fake.routes.http.some((one) => one.id === routeOf(id)) ? undefined : true),
      'the route to be gone',
    );
    if (subject.hasVolume === true) assert.equal(fake.volumes.has(`volume-${id}`), !isRemoved);
  }

  /** Checks that the cluster and the queue contain only items that belong to existing services. */
  async #nothingElse(): Promise<void> {
    const known = [...this.#given, ...[...this.#lives.values()].map(({ id }) => id)];
    const strangers = this.#fixture.fake.instances.filter((instance) => !known.includes(instance.service));
    assert.deepEqual(strangers, []);
    assert.deepEqual(await this.#fixture.database.database.many(openRows), []);
    assert.deepEqual(await this.#fixture.database.database.many(openSteps), []);
  }

  /** Ends the run of a job as soon as it has begun: prints one line and exits with success. */
  #endRun(serviceId: string, instanceId: string): void {
    const life = this.#lives.get('job');
    if (life?.id !== serviceId) return;
    this.#runs.set(serviceId, (this.#runs.get(serviceId) ?? 0) + 1);
    setImmediate(() => {
      this.#fixture.fake.print(instanceId, `done ${life.text}`);
      this.#fixture.fake.kill(instanceId, 0);
    });
  }

  #ask(subject: Subject, life: Life, action: CrashCase['action']): Promise<string> {
    const { release, ...requested } = requestOf(subject, life.id, life.text);
    const isDeploy = action === 'DEPLOY' && release !== undefined;
    return this.#fixture.deploy([isDeploy ? { ...requested, release } : requested], { action });
  }

  async #state(serviceId: string): Promise<string> {
    return this.#fixture.deleted.includes(serviceId) ? 'gone' : (await this.#fixture.view(serviceId)).state;
  }

  async #log(deploymentId: string): Promise<string> {
    const { engine, database } = this.#fixture;
    const view = await engine.port.deployment(database.database, deploymentId);
    if (view === null) return '';
    const { lines } = await engine.port.deploymentLog(database.database, this.#fixture.environmentId, view.executionId);
    return lines.map(({ step, message }) => `${step}: ${message}`).join('\n');
  }

  #text(): string {
    this.#count += 1;
    return `text-${this.#count}`;
  }
}

function sameTexts(shown: readonly string[], expected: readonly string[]): boolean {
  return shown.length === expected.length && shown.every((text, index) => text === expected[index]);
}

/** Limits the wait for a promise, so that a point that is never reached fails the case instead of blocking it. */
async function within<Value>(promise: Promise<Value>, what: string): Promise<Value> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => limit.reject(new Error(`waited in vain for ${what}`)), 20_000);
  try {
    return await Promise.race([promise, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}
