import type { ClusterAway } from '../shared/cluster-drivers.ts';
import type { EngineParts } from '../shared/parts.ts';
import * as store from '../store/journal.ts';
import type { DeploymentLog } from './deployment-log.ts';
import { LeaseLost, type Journal } from './journal.ts';

/** For which cluster a deployment waits, and until when. */
export interface Waiting {
  readonly key: string;
  /** Milliseconds since 1970. */
  readonly until: number;
  /** For what has to be taken back there, so that a cancel does not end it; one with force does. */
  readonly takesBack: boolean;
}

export interface ClusterWaitInput {
  readonly parts: EngineParts;
  readonly deployment: store.ClaimedDeployment;
  readonly journal: Journal;
  readonly log: DeploymentLog;
  readonly cancel: AbortSignal;
  readonly force: AbortSignal;
}

/**
 * What a deployment does whose cluster is away: it lets go of everything, so that it takes nothing from others, and is taken up again
 * when the cluster is back. Since when it waits is in its row, so a restart of Davit gives it no more time.
 */
export class ClusterWait {
  readonly #input: ClusterWaitInput;
  #waiting: Waiting | null = null;
  /** It waited for its cluster, and nothing has succeeded since. */
  #waited: boolean;

  constructor(input: ClusterWaitInput) {
    this.#input = input;
    this.#waited = input.deployment.waiting_since !== null;
  }

  /** null: it does not wait. */
  get waiting(): Waiting | null {
    return this.#waiting;
  }

  /**
   * Whether it is to let go of everything until its cluster is back. Not after it has waited for long enough, nor against the user: who cancels
   * waits on for what is taken back by that (`takesBack`), unless it is with force.
   */
  async begin(away: ClusterAway, serviceId?: string, takesBack = false): Promise<boolean> {
    const { deployment, parts, cancel, force, log } = this.#input;
    if (takesBack ? force.aborted : cancel.aborted) return false;
    const waited = await parts.database.maybe(store.beginWaiting, [deployment.id, deployment.fence]);
    if (waited === undefined) throw new LeaseLost();
    const left = parts.settings.clusterWaitSeconds - waited.seconds;
    if (left <= 0) return false;
    if (this.#waiting === null && deployment.waiting_since === null) {
      const message = `${away.message}. The deployment waits for it, for ${Math.ceil(left)} s at most.`;
      log.add('wait', message, { ...(serviceId !== undefined && { serviceId }), level: 'WARNING' });
      await log.flush();
    }
    this.#waiting = {
      key: away.key,
      until: this.#waiting?.until ?? Date.now() + left * 1_000,
      takesBack: takesBack || this.#waiting?.takesBack === true,
    };
    return true;
  }

  /** Something has succeeded again. */
  async end(): Promise<void> {
    if (!this.#waited) return;
    this.#waited = false;
    await this.#input.journal.writeAny(store.endWaiting, []);
    this.#input.log.add('wait', 'The cluster answers again: the deployment goes on.');
  }
}
