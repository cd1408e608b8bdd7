import { AppError, pause, redactor, Sensitive } from '@davit/base';
import { DriverError, type CallContext, type Cause, type Instance, type LogLine, type Workload } from '@davit/drivers';
import type { BackupSubject } from '../model.ts';
import { driversOf, type EngineParts } from '../shared/parts.ts';
import type { ToolTarget } from '../store/backups.ts';
import { ownerOf } from '../workload/owner.ts';
import { secretIds, toWorkload } from '../workload/workload.ts';
import { outFolder, toolCommand, toolFiles, type BackupScript } from './tools.ts';

/*
 * A tool instance is a temporary instance of a database's own image, in the network of the database, in which one
 * script works. It belongs to a backup or restore, whose id is its service id. After a crash the next process can
 * therefore find and remove the tool instance, and deployments of the database do not affect it.
 */

/** Minimum memory, because the tools and a test server run side by side, even if the database itself has less. */
const minMemoryMiB = 384;
const lookEveryMilliseconds = 500;
const evidenceLines = 30;
const closeMilliseconds = 60_000;
/**
 * Seconds for a script to clean up when its instance is evicted. A tool instance that Davit removes gets no grace
 * period.
 */
const graceSeconds = 10;

/** `signal` is also aborted on timeout of the work, `leave` only if this process must leave the work. */
export interface ToolCall extends CallContext {
  readonly leave: AbortSignal;
}

export interface ToolWork {
  /** Id of the backup or restore. */
  readonly id: string;
  readonly subject: BackupSubject;
  readonly target: ToolTarget;
  readonly call: ToolCall;
}

export class ToolInstance {
  readonly #parts: EngineParts;
  readonly #work: ToolWork;
  readonly #script: BackupScript;
  #instance: Instance | null = null;

  constructor(parts: EngineParts, work: ToolWork, script: BackupScript) {
    this.#parts = parts;
    this.#work = work;
    this.#script = script;
  }

  /** Removes the tool instance of an earlier attempt, then starts the script. */
  async open(): Promise<void> {
    await this.close();
    const { target, call } = this.#work;
    await driversOf(this.#parts, target.driver).cluster.start(await this.#workload(), call);
  }

  /** Returns the instance. Fails with RESTORE_FAILED or BACKUP_FAILED if something else removed it. */
  async instance(): Promise<Instance> {
    const { id, target, call } = this.#work;
    const [found] = await driversOf(this.#parts, target.driver).cluster.observe({ service: id }, call.signal);
    if (found === undefined) {
      const isRestore = this.#script === 'restore' || this.#script === 'release';
      const message = 'The instance with the tools was removed while it worked.';
      throw new DriverError({ cause: isRestore ? 'RESTORE_FAILED' : 'BACKUP_FAILED', message });
    }
    this.#instance = found;
    return found;
  }

  /** Waits until the script has exited. Fails with `cause` if the script failed. */
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

  /** Removes the instance with all its files, even after the timeout of the work. Idempotent. */
  async close(): Promise<void> {
    const { id, target, call } = this.#work;
    this.#instance = null;
    const signal = AbortSignal.any([call.leave, AbortSignal.timeout(closeMilliseconds)]);
    await driversOf(this.#parts, target.driver).cluster.retire({ service: id }, 0, { ...call, signal });
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

  /** Returns the last lines that the instance printed. */
  async lines(): Promise<string[]> {
    const { target, call, subject } = this.#work;
    if (this.#instance === null) return [];
    const { cluster } = driversOf(this.#parts, target.driver);
    const stop = new AbortController();
    const signal = AbortSignal.any([call.signal, stop.signal, AbortSignal.timeout(10_000)]);
    const lines: string[] = [];
    const keep = ({ text }: LogLine): void => {
      lines.push(text);
      if (lines.length > evidenceLines) lines.shift();
    };
    // If the instance still runs, only the lines printed so far are read.
    if (this.#instance.state === 'RUNNING') setTimeout(() => stop.abort(), 1_000).unref();
    await cluster.followLogs(this.#instance.id, null, keep, signal).catch(() => undefined);
    const redact = await redactor((await this.#parts.hooks.secrets([subject.passwordSecretId])).values());
    return lines.map((line) => redact(line));
  }

  async #workload(): Promise<Workload> {
    const script = this.#script;
    const { hooks, settings } = this.#parts;
    const { id, subject, target } = this.#work;
    const { config, image_id: image } = target;
    if (config === null || image === null) throw notDeployed(subject);
    const secrets = await hooks.secrets([...secretIds(this.#parts.kinds, config), subject.passwordSecretId]);
    const password = secrets.get(subject.passwordSecretId);
    if (password === undefined) throw notDeployed(subject);
    const workload = toWorkload({
      owner: ownerOf(this.#parts, { ...target, service_id: id }),
      // The id is not that of a release, so that the output is not stored as output of the database.
      release: id,
      rollout: id,
      image,
      config,
      commit: null,
      secrets,
      builtInPrefix: settings.builtInPrefix,
      readyTimeoutSeconds: settings.readyTimeoutSeconds,
      terminationGraceSeconds: graceSeconds,
      kinds: this.#parts.kinds,
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
      memoryMiB: Math.max(workload.memoryMiB, minMemoryMiB),
      instances: 1,
      hostnames: [host],
      readiness: null,
      liveness: null,
    };
  }
}

function notDeployed({ name }: BackupSubject): AppError {
  return new AppError({
    code: 'NEVER_DEPLOYED',
    message: `${name} is not deployed, so it has no image whose tools could be used.`,
  });
}
