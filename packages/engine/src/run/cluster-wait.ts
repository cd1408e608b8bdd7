import type { ClusterUnreachable } from '../shared/cluster-drivers.ts';
import type { EngineParts } from '../shared/parts.ts';
import * as store from '../store/journal.ts';
import type { DeploymentLog } from './deployment-log.ts';
import { LeaseLost, type Journal } from './journal.ts';

/** The cluster that a deployment waits for, and the time limit. */
export interface Waiting {
  readonly key: string;
  /** End of the wait, in milliseconds since 1970. */
  readonly until: number;
  /**
   * Whether the deployment waits in order to undo steps on the cluster. A cancel does not end such a wait; a forced
   * cancel does.
   */
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
 * Handles the wait of a deployment for its unreachable cluster. The deployment releases all its resources, so that
 * others can use them, and is resumed when the cluster is reachable again. The start of the wait is stored in the
 * deployment's row, so a restart of Davit does not extend the wait.
 */
export class ClusterWait {
  readonly #input: ClusterWaitInput;
  #waiting: Waiting | null = null;
  /** The deployment waited for its cluster, and no step has succeeded since. */
  #waited: boolean;

  constructor(input: ClusterWaitInput) {
    this.#input = input;
    this.#waited = input.deployment.waiting_since !== null;
  }

  /** null: the deployment is not waiting. */
  get waiting(): Waiting | null {
    return this.#waiting;
  }

  /**
   * Returns true if the deployment must release its resources until the cluster is reachable again. Returns false once
   * the wait has timed out, or if the user has canceled. If steps are being undone (`takesBack`), only a forced cancel
   * ends the wait.
   */
  async begin(away: ClusterUnreachable, serviceId?: string, takesBack = false): Promise<boolean> {
    const { deployment, parts, cancel, force, log } = this.#input;
    if (takesBack ? force.aborted : cancel.aborted) return false;
    const waited = await parts.database.maybe(store.beginWaiting, [deployment.id, deployment.fence]);
    if (waited === undefined) throw new LeaseLost();
    const left = parts.settings.clusterWaitSeconds - waited.seconds;
    if (left <= 0) return false;
    if (this.#waiting === null && deployment.waiting_since === null) {
      const message = `${away.message}. The deployment waits for it for at most ${Math.ceil(left)} s.`;
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

  /** Ends the wait after a step has succeeded again. */
  async end(): Promise<void> {
    if (!this.#waited) return;
    this.#waited = false;
    await this.#input.journal.writeAny(store.endWaiting, []);
    this.#input.log.add('wait', 'The cluster answers again: the deployment continues.');
  }
}
