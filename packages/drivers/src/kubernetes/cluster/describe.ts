import type { Node } from 'kubernetes-types/core/v1.js';
import type { ClusterDescription } from '../../driver.ts';
import { DriverError } from '../../errors.ts';
import { call, unreachable, type Api, type KubernetesObject } from '../client/api.ts';
import { list } from '../client/follow.ts';
import { pathOf } from '../client/objects.ts';
import { translated } from '../client/refusals.ts';
import { toNumber } from '../names/quantity.ts';

const answerMilliseconds = 5_000;

export interface Version {
  readonly gitVersion: string;
  readonly major: string;
  readonly minor: string;
}

/** Fails with CLUSTER_ACCESS_INVALID where something else than an API server answers, as the page of a proxy to sign in at. */
export async function askVersion(api: Api, signal: AbortSignal): Promise<Version> {
  const { body } = await call<Version>(api, { method: 'GET', path: '/version', signal });
  if (typeof body.gitVersion === 'string') return body;
  throw new DriverError({
    cause: 'CLUSTER_ACCESS_INVALID',
    message: 'What answers at the server of the kubeconfig is no API server of Kubernetes.',
    hint: 'Check the address of the server in the kubeconfig; perhaps a proxy stands in between.',
  });
}

/**
 * What tells a cluster from any other, whatever name or address it is reached by: the uid of a namespace that it makes for itself. Null: whoever
 * asks may not see it.
 */
export async function identityOf(api: Api, signal: AbortSignal): Promise<string | null> {
  const path = pathOf('Namespace', { name: 'kube-system' });
  const { status, body } = await call<KubernetesObject>(api, { method: 'GET', path, signal, accept: [403, 404] });
  return status === 200 ? (body.metadata?.uid ?? null) : null;
}

/** Whether a server is of this version or later. Some write `30+`. Pure. */
export function isAtLeast({ major, minor }: Version, wanted: { readonly major: number; readonly minor: number }): boolean {
  const [ownMajor, ownMinor] = [Number.parseInt(major, 10), Number.parseInt(minor, 10)];
  return ownMajor > wanted.major || (ownMajor === wanted.major && ownMinor >= wanted.minor);
}

/**
 * See `ClusterDriver.ping`. A namespace that every cluster has, as the server looks it up where it stores everything: its version it tells also when
 * it can do nothing else. Whoever may not see it has been answered.
 */
export async function pingCluster(api: Api, signal: AbortSignal): Promise<void> {
  const path = pathOf('Namespace', { name: 'default' });
  await soon(signal, (within) => call(api, { method: 'GET', path, signal: within, accept: [403, 404] }));
}

/** See `ClusterDriver.describe`. How large it is, is what pods may have of the nodes that take some. */
export async function describeCluster(api: Api, signal: AbortSignal): Promise<ClusterDescription> {
  return soon(signal, async (within) => {
    const [version, nodes] = await Promise.all([
      askVersion(api, within),
      // As the server has them in memory: what nodes are called and hold seldom changes, and of many that is megabytes.
      list<Node>(api, { path: pathOf('Node'), query: { resourceVersion: '0' } }, within),
    ]);
    const open = nodes.items.filter(({ spec }) => spec?.unschedulable !== true).map(({ status }) => status?.allocatable ?? {});
    const sum = (name: string): number => open.reduce((total, amounts) => total + toNumber(amounts[name]), 0);
    return {
      engine: 'kubernetes',
      version: version.gitVersion.replace(/^v/, ''),
      apiVersion: 'v1',
      cpuMillicores: Math.round(sum('cpu') * 1000),
      memoryMiB: Math.floor(sum('memory') / 2 ** 20),
    };
  });
}

async function soon<Answer>(signal: AbortSignal, ask: (within: AbortSignal) => Promise<Answer>): Promise<Answer> {
  const limit = AbortSignal.timeout(answerMilliseconds);
  try {
    return await ask(AbortSignal.any([signal, limit]));
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted) throw unreachable('does not answer', new Error(`no answer within ${answerMilliseconds / 1000} s`));
    throw translated(error, 'The cluster could not be asked');
  }
}
