/** A revision of a release on the cluster. `rollout`: rollout of the Davit deployment that made the revision. */
export interface Revision {
  readonly revision: number;
  readonly status: string;
  readonly rollout: string | null;
}

export type Repair =
  | { readonly type: 'NOTHING' }
  | { readonly type: 'ROLLBACK'; readonly revision: number }
  | { readonly type: 'UNINSTALL' };

const worked = ['deployed', 'superseded'];

/**
 * Returns the repair that restores a release to its state before a deployment, at whatever point this deployment, or an
 * earlier one, was interrupted or failed. `former`: the rollout that was deployed then; null: none was. `revisions`:
 * oldest first.
 */
export function repairOf(revisions: readonly Revision[], former: string | null): Repair {
  const last = revisions.at(-1);
  if (last === undefined || last.status === 'uninstalled') return { type: 'NOTHING' };
  if (former === null) return { type: 'UNINSTALL' };
  if (last.status === 'deployed' && last.rollout === former) return { type: 'NOTHING' };
  const good = revisions.filter(({ status }) => worked.includes(status));
  // Somebody may have restored another revision by hand. The revision that Helm calls deployed is then the best
  // available.
  const byHand = last.status === 'deployed' ? undefined : good.findLast(({ status }) => status === 'deployed');
  const target = good.findLast(({ rollout }) => rollout === former) ?? byHand;
  if (target !== undefined) return { type: 'ROLLBACK', revision: target.revision };
  // Helm refuses to upgrade a release that is half removed or has a pending operation, and there is no revision to roll
  // back to.
  return last.status === 'uninstalling' || last.status.startsWith('pending-') ? { type: 'UNINSTALL' } : { type: 'NOTHING' };
}

/** Returns whether a deployment had installed its release before it was interrupted. */
export function isInstalled(revisions: readonly Revision[], rollout: string): boolean {
  const last = revisions.at(-1);
  return last?.status === 'deployed' && last.rollout === rollout;
}
