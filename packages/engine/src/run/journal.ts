import type { Database, Queryable, Statement } from '@davit/db';
import type { FailureRecord } from '../model.ts';
import type { StepName } from '../plan/plan.ts';
import type { Phase } from '../states.ts';
import * as store from '../store/journal.ts';

/** Another runner took the deployment over: this one must stop at once and write nothing more. */
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
}

/** Writes of one deployment, each of which holds only while its fence does. */
export class Journal {
  readonly #database: Database;
  readonly #deploymentId: string;
  readonly #fence: number;

  constructor(database: Database, deploymentId: string, fence: number) {
    this.#database = database;
    this.#deploymentId = deploymentId;
    this.#fence = fence;
  }

  /** Runs a fenced statement whose first two values are deployment and fence. */
  async write(statement: Statement, values: readonly unknown[], db: Queryable = this.#database): Promise<void> {
    const changed = await db.run(statement, [this.#deploymentId, this.#fence, ...values]);
    if (changed === 0) throw new LeaseLost();
  }

  /** Like `write`, where changing nothing is fine: it had been written before a crash. */
  async writeAny(statement: Statement, values: readonly unknown[], db: Queryable = this.#database): Promise<void> {
    await db.run(statement, [this.#deploymentId, this.#fence, ...values]);
  }

  /**
   * Fails with LeaseLost unless the fence holds at this moment. For what a step does to a cluster after it looked around for a while and cannot be
   * done beside another owner: no fence stands before a cluster, and a process that was frozen goes on where it was.
   */
  async hold(): Promise<void> {
    if ((await this.#database.maybe(store.holds, [this.#deploymentId, this.#fence])) === undefined) throw new LeaseLost();
  }

  transaction(action: (tx: Queryable) => Promise<void>): Promise<void> {
    return this.#database.transaction(action);
  }

  setPhase(serviceId: string, phase: Phase, failure: FailureRecord | null = null, db?: Queryable): Promise<void> {
    return this.write(store.setPhase, [serviceId, phase, failure === null ? null : JSON.stringify(failure)], db);
  }

  beginStep(serviceId: string, position: number): Promise<void> {
    return this.write(store.beginStep, [serviceId, position]);
  }

  endStep(end: StepEnd): Promise<void> {
    const output = end.output === undefined ? null : JSON.stringify(end.output);
    return this.write(store.endStep, [end.serviceId, end.position, end.status, output]);
  }

  insertSteps(steps: readonly { service_id: string; position: number; name: StepName; metric: string }[]): Promise<void> {
    return this.writeAny(store.insertSteps, [JSON.stringify(steps)]);
  }
}
