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
  const told = async <Result>(doing: string, action: () => Promise<Result>): Promise<Result> => {
    try {
      return await action();
    } catch (error) {
      throw translated(error, doing);
    }
  };
  return {
    access: (owner, wish, signal) =>
      told('Helm could not be given access to the cluster', () => makeAccess(scope, owner, wish, signal)),
    outside: (owner, objects, signal) =>
      told('The kinds of the cluster could not be listed', () => outsideOf(scope, owner, objects, signal)),
    revisions: (place, signal) => told('The releases of Helm could not be listed', () => readRevisions(scope, place, signal)),
    whileWatched: (place, objects, work, context) => whileWatched(scope, { place, objects, work }, context),
    stop: (place, context) => told('The release could not be stopped', () => stopRelease(scope, place, context)),
    wake: (place, objects, seconds, signal) =>
      told('The release could not be started', () => wakeRelease(scope, place, { objects, seconds }, signal)),
    markClaims: (place, signal) => told('The volumes of the release could not be marked', () => markClaims(scope, place, signal)),
    removeClaims: (place, signal) =>
      told('The volumes of the release could not be removed', () => removeClaims(scope, place, signal)),
    services: (place, signal) =>
      told('The Services of the release could not be listed', () => readServices(scope, place, signal)),
    state: (place, signal) => told('The release could not be inspected', () => readState(scope, place, signal)),
  };
}
