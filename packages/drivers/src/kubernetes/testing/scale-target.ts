import { call, find, type Api, type KubernetesObject } from '../client/api.ts';
import { scaleTargetDefinition } from '../manifests/scale-target.ts';

const signal = new AbortController().signal;
const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

const path = `${definitions}/${scaleTargetDefinition.metadata?.name}`;

/**
 * Records whether the cluster knows ScaleTargets. Returns a function that removes their definition, unless it already
 * existed. All ScaleTargets are removed with it.
 */
export async function noteScaleTargets(api: Api): Promise<() => Promise<void>> {
  const wasThere = (await find(api, path, signal)) !== null;
  return async () => {
    if (!wasThere) await call(api, { method: 'DELETE', path, signal, accept: [404] });
  };
}

/** Installs the definition of ScaleTargets, as the operator of the cluster would. */
export async function defineScaleTargets(api: Api): Promise<void> {
  const query = { fieldManager: 'davit-tests', force: 'true' };
  const contentType = 'application/apply-patch+yaml';
  await call(api, { method: 'PATCH', path, query, body: scaleTargetDefinition, contentType, signal });
  while (!(await isServed(api, '/apis/davit.dev/v1/scaletargets'))) await new Promise((resolve) => setTimeout(resolve, 100));
}

/** Returns whether the cluster serves an API such as `/apis/keda.sh/v1alpha1`. */
export async function isServed(api: Api, path: string): Promise<boolean> {
  return (await call(api, { method: 'GET', path, signal, accept: [404, 429, 503] })).status === 200;
}

/** Writes the number of an object through its subresource `scale`, as autoscalers do. */
export async function writeScale(api: Api, path: string, replicas: number): Promise<void> {
  const contentType = 'application/merge-patch+json';
  await call<KubernetesObject>(api, {
    method: 'PATCH',
    path: `${path}/scale`,
    body: { spec: { replicas } },
    contentType,
    signal,
  });
}
