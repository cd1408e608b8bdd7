/** A revision that the cluster has of a release; `rollout`: of Davit's deployment that made it. */
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
 * What makes a release be what it was before a deployment, wherever that, or another one before it, was interrupted or failed. `former`: the
 * rollout that was deployed then; null: nothing was. `revisions` oldest first.
 */
export function repairOf(revisions: readonly Revision[], former: string | null): Repair {
  const last = revisions.at(-1);
  if (last === undefined || last.status === 'uninstalled') return { type: 'NOTHING' };
  if (former === null) return { type: 'UNINSTALL' };
  if (last.status === 'deployed' && last.rollout === former) return { type: 'NOTHING' };
  const good = revisions.filter(({ status }) => worked.includes(status));
  // By hand somebody may have brought back another one; what Helm calls deployed is then the best there is.
  const byHand = last.status === 'deployed' ? undefined : good.findLast(({ status }) => status === 'deployed');
  const target = good.findLast(({ rollout }) => rollout === former) ?? byHand;
  if (target !== undefined) return { type: 'ROLLBACK', revision: target.revision };
  // Helm takes no upgrade of what is half removed or in the middle of something, and there is nothing that it could go back to.
  return last.status === 'uninstalling' || last.status.startsWith('pending-') ? { type: 'UNINSTALL' } : { type: 'NOTHING' };
}

/** Whether a deployment had installed its release before it was interrupted. */
export function isInstalled(revisions: readonly Revision[], rollout: string): boolean {
  const last = revisions.at(-1);
  return last?.status === 'deployed' && last.rollout === rollout;
}
