import { AppError, redactor, Sensitive } from '@davit/base';
import { DriverError, type CallContext, type Cause, type Instance, type LogLine, type Workload } from '@davit/drivers';
import type { BackupSubject } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import { pause } from '../shared/pause.ts';
import type { BenchPlace } from '../store/backups.ts';
import { secretIds, toWorkload } from '../workload/workload.ts';
import { outFolder, toolCommand, toolFiles, type BackupScript } from './tools.ts';

/*
 * A bench is a throw-away instance of a database's own image, in the database's network, in which one script works. It belongs to
 * what is being done (the id of a backup or restore is its service), so that whoever goes on after a crash finds and removes it, and no
 * deployment of the database touches it.
 */

/** The tools and a server for a test side by side, whatever little the database itself has. */
const leastMemoryMiB = 384;
const lookEveryMilliseconds = 500;
const evidenceLines = 30;
const closeMilliseconds = 60_000;
/** For what a script takes back when its instance is evicted. What Davit removes gets none. */
const graceSeconds = 10;

/** `signal` aborts also when the time of what is done is over, `leave` only when this process must let go of it. */
export interface BenchCall extends CallContext {
  readonly leave: AbortSignal;
}

export interface BenchWork {
  /** Id of the backup or restore. */
  readonly id: string;
  readonly subject: BackupSubject;
  readonly place: BenchPlace;
  readonly call: BenchCall;
}

export class Bench {
  readonly #parts: EngineParts;
  readonly #work: BenchWork;
  readonly #script: BackupScript;
  #instance: Instance | null = null;

  constructor(parts: EngineParts, work: BenchWork, script: BackupScript) {
    this.#parts = parts;
    this.#work = work;
    this.#script = script;
  }

  /** Removes what there is of an earlier one, then starts the script. */
  async open(): Promise<void> {
    await this.close();
    const { place, call } = this.#work;
    await driversOf(this.#parts, place.driver).cluster.start(await this.#workload(), call);
  }

  /** The instance, while it is there. RESTORE_FAILED or BACKUP_FAILED when something else removed it. */
  async instance(): Promise<Instance> {
    const { id, place, call } = this.#work;
    const [found] = await driversOf(this.#parts, place.driver).cluster.observe({ service: id }, call.signal);
    if (found === undefined) {
      const isRestore = this.#script === 'restore' || this.#script === 'release';
      const message = 'The instance with the tools was removed while it worked.';
      throw new DriverError({ cause: isRestore ? 'RESTORE_FAILED' : 'BACKUP_FAILED', message });
    }
    this.#instance = found;
    return found;
  }

  /** Waits until the script has ended. `cause`: what it is when it did not end well. */
  async end(cause: Cause, what: string): Promise<Instance> {
    const { call } = this.#work;
    for (;;) {
      const instance = await this.instance();
      if (instance.state === 'EXITED') {
        if (instance.exit?.code === 0) return instance;
        throw await this.#failure(instance, cause, what);
      }
      await pause(lookEveryMilliseconds, call.signal);
      call.signal.throwIfAborted();
    }
  }

  /** Removes it with all that it made, also when the time of what was done is over. Idempotent. */
  async close(): Promise<void> {
    const { id, place, call } = this.#work;
    this.#instance = null;
    const signal = AbortSignal.any([call.leave, AbortSignal.timeout(closeMilliseconds)]);
    await driversOf(this.#parts, place.driver).cluster.retire({ service: id }, 0, { ...call, signal });
  }

  async #failure(instance: Instance, cause: Cause, what: string): Promise<DriverError> {
    const code = instance.exit?.code ?? -1;
    const outOfMemory = instance.exit?.outOfMemory === true;
    return new DriverError({
      cause: outOfMemory ? 'OUT_OF_MEMORY' : cause,
      message: `${what} ended with exit code ${code}${outOfMemory ? ', killed for using too much memory' : ''}.`,
      evidence: { lines: await this.lines(), exit: { code, outOfMemory } },
    });
  }

  /** The last lines that it printed. */
  async lines(): Promise<string[]> {
    const { place, call, subject } = this.#work;
    if (this.#instance === null) return [];
    const { cluster } = driversOf(this.#parts, place.driver);
    const stop = new AbortController();
    const signal = AbortSignal.any([call.signal, stop.signal, AbortSignal.timeout(10_000)]);
    const lines: string[] = [];
    const keep = ({ text }: LogLine): void => {
      lines.push(text);
      if (lines.length > evidenceLines) lines.shift();
    };
    // One that runs still is only read as far as it came.
    if (this.#instance.state === 'RUNNING') setTimeout(() => stop.abort(), 1_000).unref();
    await cluster.followLogs(this.#instance.id, null, keep, signal).catch(() => undefined);
    const redact = await redactor((await this.#parts.hooks.secrets([subject.passwordSecretId])).values());
    return lines.map((line) => redact(line));
  }

  async #workload(): Promise<Workload> {
    const script = this.#script;
    const { hooks, settings } = this.#parts;
    const { id, subject, place } = this.#work;
    const { config, image_id: image } = place;
    if (config === null || image === null) throw notDeployed(subject);
    const secrets = await hooks.secrets([...secretIds(config), subject.passwordSecretId]);
    const password = secrets.get(subject.passwordSecretId);
    if (password === undefined) throw notDeployed(subject);
    const workload = toWorkload({
      owner: {
        installation: settings.installation,
        organization: place.organization_id,
        project: place.project_id,
        environment: place.environment_id,
        service: id,
      },
      // Of no release: its output is not the database's.
      release: id,
      rollout: id,
      image,
      config,
      commit: null,
      secrets,
      builtInPrefix: settings.builtInPrefix,
      readyTimeoutSeconds: settings.readyTimeoutSeconds,
      terminationGraceSeconds: graceSeconds,
    });
    const host = `bench-${id.slice(0, 8)}`;
    const own = {
      DAVIT_HOST: subject.host,
      DAVIT_PORT: String(subject.port),
      DAVIT_LOGIN: subject.login,
      DAVIT_PASSWORD: password,
      DAVIT_DATABASE: subject.database,
      DAVIT_BENCH_HOST: host,
    };
    return {
      ...workload,
      name: `${script} ${subject.name}`,
      entrypoint: toolCommand(script),
      arguments: [],
      environment: [
        ...workload.environment,
        ...Object.entries(own).map(([name, value]) => ({ name, value: new Sensitive(value) })),
      ],
      files: toolFiles(subject.type),
      folders: [outFolder],
      runsOnce: true,
      ports: [],
      volumes: [],
      memoryMiB: Math.max(workload.memoryMiB, leastMemoryMiB),
      instances: 1,
      hostnames: [host],
      readiness: null,
      liveness: null,
    };
  }
}

function notDeployed({ name }: BackupSubject): AppError {
  return new AppError({ code: 'NEVER_DEPLOYED', message: `${name} is not deployed, so there is nothing to work with.` });
}
