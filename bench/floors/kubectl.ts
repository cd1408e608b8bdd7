import { spawn } from 'node:child_process';
import type { Manifest } from '../../packages/drivers/src/kubernetes/testing/manifests-of-davit.ts';

/** Runs `kubectl` (or the program in KUBECTL) with the kubeconfig in KUBECONFIG. */
export function kubectl(args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.env['KUBECTL'] ?? 'kubectl', args, { stdio: ['pipe', 'pipe', 'pipe'] });
    let [output, errors] = ['', ''];
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`kubectl ${args.join(' ')} ended with ${code}: ${errors}`));
    });
    child.stdin.end(input);
  });
}

/** Returns the objects of these kinds in a namespace that have this label. */
export async function objectsOf(namespace: string, kinds: readonly string[], selector: string): Promise<Manifest[]> {
  const text = await kubectl(['get', kinds.join(','), '-n', namespace, '-l', selector, '-o', 'json']);
  const list: { items: Manifest[] } = JSON.parse(text);
  return list.items;
}

/**
 * Returns the objects as a user would have written them for `kubectl apply`: in another namespace, without the fields
 * that the API server adds, and with labels that are not Davit's. A Deployment is replaced as in Davit: the new pod
 * starts first.
 */
export function rewritten(objects: readonly Manifest[], namespace: string, suffix = ''): Manifest[] {
  return objects.map((object) => {
    const { status: _status, metadata, ...rest } = object;
    const own = { ...rest, metadata: { name: metadata.name, namespace, labels: metadata.labels ?? {} } };
    const text = JSON.stringify(own, (key, value: unknown) => (added.has(key) ? undefined : value));
    const names = new Set(objects.map((one) => one.metadata.name));
    // Replaces references between the objects, for example names of secrets. All names are replaced in one pass, as a
    // new name may be the old name of another object.
    const renamed = text.replaceAll(/"([^"]+)"/g, (all, name: string) => (names.has(name) ? `"${name}${suffix}"` : all));
    const parsed: Manifest = JSON.parse(renamed.replaceAll('"davit.', `"bench${suffix}.`));
    if (parsed.kind !== 'Deployment') return parsed;
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
    return { ...parsed, spec: { ...fieldsOf(parsed.spec), strategy } };
  });
}

// The API server assigns `clusterIP` and similar fields; the others are bookkeeping.
const added = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
  'clusterIP',
  'clusterIPs',
  'ownerReferences',
]);

/** Returns the Deployment with a pod template that differs from the previous one by this value. */
export function withGeneration(objects: readonly Manifest[], generation: string): Manifest[] {
  return objects.map((object) => {
    if (object.kind !== 'Deployment') return object;
    const spec = fieldsOf(object.spec);
    const template = fieldsOf(spec['template']);
    const metadata = fieldsOf(template['metadata']);
    const annotations = { ...fieldsOf(metadata['annotations']), 'bench/generation': generation };
    return { ...object, spec: { ...spec, template: { ...template, metadata: { ...metadata, annotations } } } };
  });
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};
}

/** Applies the objects and waits until all Deployments of the namespace have rolled out; returns the milliseconds. */
export async function applyAndWait(objects: readonly Manifest[], namespace: string): Promise<number> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const began = performance.now();
  await kubectl(['apply', '-f', '-'], input);
  const names = objects.filter(({ kind }) => kind === 'Deployment').map(({ metadata }) => `deployment/${metadata.name}`);
  await kubectl(['rollout', 'status', '-n', namespace, '--timeout=300s', ...names]);
  return performance.now() - began;
}
