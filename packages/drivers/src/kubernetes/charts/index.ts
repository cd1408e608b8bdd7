import type { ClusterCharts } from '../../helm-driver.ts';
import type { ClusterScope } from '../client/cluster-scope.ts';
import { translated } from '../client/refusals.ts';
import { makeAccess } from './access.ts';
import { outsideOf } from './outside.ts';
import { readRevisions } from './revisions.ts';
import { readServices, readState } from './state.ts';
import { markClaims, removeClaims, stopRelease, wakeRelease } from './stop.ts';
import { whileWatched } from './watch.ts';

/** The optional power "charts". */
export function clusterCharts(scope: ClusterScope): ClusterCharts {
  const reported = async <Result>(doing: string, action: () => Promise<Result>): Promise<Result> => {
    try {
      return await action();
    } catch (error) {
      throw translated(error, doing);
    }
  };
  return {
    access: (owner, access, signal) =>
      reported('Helm could not be given access to the cluster', () => makeAccess(scope, owner, access, signal)),
    outside: (owner, objects, signal) =>
      reported('The kinds of the cluster could not be listed', () => outsideOf(scope, owner, objects, signal)),
    revisions: (chart, signal) => reported('The releases of Helm could not be listed', () => readRevisions(scope, chart, signal)),
    whileWatched: (chart, objects, work, context) => whileWatched(scope, { chart, objects, work }, context),
    stop: (chart, context) => reported('The release could not be stopped', () => stopRelease(scope, chart, context)),
    wake: (chart, objects, seconds, signal) =>
      reported('The release could not be started', () => wakeRelease(scope, chart, { objects, seconds }, signal)),
    markClaims: (chart, signal) =>
      reported('The volumes of the release could not be marked', () => markClaims(scope, chart, signal)),
    removeClaims: (chart, signal) =>
      reported('The volumes of the release could not be removed', () => removeClaims(scope, chart, signal)),
    services: (chart, signal) =>
      reported('The Services of the release could not be listed', () => readServices(scope, chart, signal)),
    state: (chart, signal) => reported('The release could not be inspected', () => readState(scope, chart, signal)),
  };
}
