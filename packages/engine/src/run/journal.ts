import type { Database, Queryable, Statement } from '@davit/db';
import type { FailureRecord } from '../model.ts';
import type { StepName } from '../plan/plan.ts';
import type { Phase } from '../states.ts';
import * as store from '../store/journal.ts';

/** Another runner took over the deployment. This runner must stop at once and write nothing more. */
export class LeaseLost extends Error {
  constructor() {
    super('the deployment was taken over by another runner');
    this.name = 'LeaseLost';
  }
}

export interface StepEnd {
  readonly serviceId: string;
  readonly position: number;
  readonly status: store.StepRow['status'];
  readonly output?: object;
  /** Lines of the log as JSON, see `DeploymentLog.take`. */
  readonly lines?: string;
  /** Position of the step that begins in the same statement; null: none. */
  readonly begins?: number | null;
}

interface PhaseOptions {
  readonly failure?: FailureRecord;
  readonly lines?: string;
  readonly begins?: number | null;
  readonly db?: Queryable;
}

const noLines = '[]';

/** Writes the journal of one deployment. Each write fails if the fence no longer holds. */
export class Journal {
  readonly #database: Database;
  readonly #deploymentId: string;
  readonly #fence: number;

  constructor(database: Database, deploymentId: string, fence: number) {
    this.#database = database;
    this.#deploymentId = deploymentId;
    this.#fence = fence;
  }

  /** Runs a fenced statement. Its first two values are deployment and fence. */
  async write(statement: Statement, values: readonly unknown[], db: Queryable = this.#database): Promise<void> {
    const changed = await db.run(statement, [this.#deploymentId, this.#fence, ...values]);
    if (changed === 0) throw new LeaseLost();
  }

  /** Runs a fenced statement that may change nothing, because it may have been executed before a crash. */
  async writeAny(statement: Statement, values: readonly unknown[], db: Queryable = this.#database): Promise<void> {
    await db.run(statement, [this.#deploymentId, this.#fence, ...values]);
  }

  /**
   * Fails with LeaseLost unless the fence holds now. Steps call this before they change a cluster after a longer
   * inspection, if the change must not happen beside another owner. No fence protects a cluster, and a process that was
   * frozen continues where it was.
   */
  async hold(): Promise<void> {
    if ((await this.#database.maybe(store.holds, [this.#deploymentId, this.#fence])) === undefined) throw new LeaseLost();
  }

  transaction(action: (tx: Queryable) => Promise<void>): Promise<void> {
    return this.#database.transaction(action);
  }

  setPhase(serviceId: string, phase: Phase, { failure, lines = noLines, begins = null, db }: PhaseOptions = {}): Promise<void> {
    const stored = failure === undefined ? null : JSON.stringify(failure);
    return this.write(store.setPhase, [serviceId, phase, stored, lines, begins], db);
  }

  beginStep(serviceId: string, position: number): Promise<void> {
    return this.write(store.beginStep, [serviceId, position]);
  }

  endStep(end: StepEnd): Promise<void> {
    const output = end.output === undefined ? null : JSON.stringify(end.output);
    const { serviceId, position, status, lines = noLines, begins = null } = end;
    return this.write(store.endStep, [serviceId, position, status, output, lines, begins]);
  }

  beginServices(steps: readonly { service_id: string; position: number; name: StepName; metric: string }[]): Promise<void> {
    return this.writeAny(store.beginServices, [JSON.stringify(steps)]);
  }
}
