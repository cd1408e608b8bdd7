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

/**
 * Returns the version of the API server. Fails with CLUSTER_ACCESS_INVALID if something else responds, such as the
 * login page of a proxy.
 */
export async function askVersion(api: Api, signal: AbortSignal): Promise<Version> {
  const { body } = await call<Version>(api, { method: 'GET', path: '/version', signal });
  if (typeof body.gitVersion === 'string') return body;
  throw new DriverError({
    cause: 'CLUSTER_ACCESS_INVALID',
    message: 'The server of the kubeconfig is not an API server of Kubernetes.',
    hint: 'Check the address of the server in the kubeconfig; there may be a proxy in between.',
  });
}

/**
 * Returns the identity of a cluster, which does not depend on its name or address: the uid of a namespace that every
 * cluster creates for itself. Returns null if the account may not read it.
 */
export async function identityOf(api: Api, signal: AbortSignal): Promise<string | null> {
  const path = pathOf('Namespace', { name: 'kube-system' });
  const { status, body } = await call<KubernetesObject>(api, { method: 'GET', path, signal, accept: [403, 404] });
  return status === 200 ? (body.metadata?.uid ?? null) : null;
}

/** Returns whether a server has at least the given version. Some servers write `30+`. Pure. */
export function isAtLeast({ major, minor }: Version, wanted: { readonly major: number; readonly minor: number }): boolean {
  const [ownMajor, ownMinor] = [Number.parseInt(major, 10), Number.parseInt(minor, 10)];
  return ownMajor > wanted.major || (ownMajor === wanted.major && ownMinor >= wanted.minor);
}

/**
 * See `ClusterDriver.ping`. Reads a namespace that every cluster has, because the server looks it up in its storage. A
 * server returns its version even if it cannot do anything else. A refusal to read the namespace counts as a response.
 */
export async function pingCluster(api: Api, signal: AbortSignal): Promise<void> {
  const path = pathOf('Namespace', { name: 'default' });
  await soon(signal, (within) => call(api, { method: 'GET', path, signal: within, accept: [403, 404] }));
}

/** See `ClusterDriver.describe`. The size of the cluster is what its schedulable nodes can allocate to pods. */
export async function describeCluster(api: Api, signal: AbortSignal): Promise<ClusterDescription> {
  return soon(signal, async (within) => {
    const [version, nodes] = await Promise.all([
      askVersion(api, within),
      // The server returns the nodes from its memory: their names and sizes seldom change, and a list of many nodes is
      // megabytes.
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
    throw translated(error, 'The cluster could not be queried');
  }
}
