import { join } from 'node:path';
import type { Queryable } from '@davit/db';
import type { CallContext } from '@davit/drivers';
import { ranClusterWide } from '../../store/helm.ts';
import type { Leaving } from '../traits.ts';
import { refOfRuntime } from './ref.ts';

const helmSeconds = 100;

/**
 * Uninstalls the Helm release of a service from a cluster that it leaves. Relies on the objects on the cluster and on
 * the stored clusters, so that it also works if the move was interrupted. The volumes of its StatefulSets are removed
 * too. May be repeated.
 */
export async function leaveRelease(tx: Queryable, leaving: Leaving, call: CallContext): Promise<void> {
  const { cluster, helm, settings, row, runtime } = leaving;
  const { charts } = cluster;
  if (charts === undefined) return;
  const there = refOfRuntime(leaving, runtime);
  const own = (await charts.revisions(there, call.signal)).filter(({ service }) => service === row.service_id);
  if (own.length > 0) {
    const rollouts = own.flatMap(({ rollout }) => rollout ?? []);
    const { wide: isClusterWide } = await tx.one(ranClusterWide, [row.service_id, rollouts]);
    await charts.markClaims(there, call.signal);
    const choice = { isClusterWide, takesBack: true, seconds: helmSeconds };
    const access = await charts.access(there.owner, choice, call.signal);
    const folder = join(settings.workFolder, `leave-${row.driver}`, row.service_id);
    const run = { folder, release: there.release, ...access, timeoutSeconds: helmSeconds, install: null };
    const session = await helm.open(run, call);
    try {
      await session.uninstall(call);
    } finally {
      await session.close();
    }
  }
  await charts.removeClaims(there, call.signal);
}
