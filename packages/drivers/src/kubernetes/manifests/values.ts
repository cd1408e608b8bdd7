import type { Secret } from 'kubernetes-types/core/v1.js';
import { DriverError } from '../../errors.ts';
import type { Workload } from '../../workload.ts';
import { rolloutLabels } from '../names/labels.ts';
import { namespaceName, rolloutName } from '../names/names.ts';

/**
 * Keys in the secret of a rollout. They use positions, because a path is not a valid key, and neither is every variable
 * name.
 */
export const valueKeys = {
  variable: (position: number): string => `variable-${position}`,
  file: (position: number): string => `file-${position}`,
};

/** The largest size of a secret that Kubernetes accepts, in bytes. */
const maxBytes = 1_048_576;

/**
 * Returns the secret with the variables and files of a rollout, or null if the rollout has none. Fails with
 * START_FAILED if no process can receive them. Pure.
 */
export function toValues(workload: Workload): Secret | null {
  const { owner, environment, files } = workload;
  if (environment.length === 0 && files.length === 0) return null;
  const data = Object.fromEntries([
    ...environment.map(({ value }, position) => [valueKeys.variable(position), encoded(value.reveal())]),
    ...files.map(({ content }, position) => [valueKeys.file(position), encoded(content.reveal())]),
  ]);
  refuseLarge(workload);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: rolloutName(workload),
      namespace: namespaceName(owner.installation, owner.environment),
      labels: rolloutLabels(workload, 'values'),
    },
    type: 'Opaque',
    data,
  };
}

function encoded(text: string): string {
  return Buffer.from(text).toString('base64');
}

function refuseLarge({ environment, files }: Workload): void {
  const values = [...environment.map(({ value }) => value), ...files.map(({ content }) => content)];
  const bytes = values.reduce((sum, value) => sum + Buffer.byteLength(value.reveal()), 0);
  if (bytes <= maxBytes) return;
  throw new DriverError({
    cause: 'START_FAILED',
    message: `The variables and files of the service have ${bytes} bytes; Kubernetes accepts at most ${maxBytes}.`,
    hint: 'Put large files into the image or on a volume.',
  });
}

export function pullSecretName(workload: Pick<Workload, 'owner' | 'name' | 'rollout'>): string {
  return `${rolloutName(workload)}-registry`;
}

/** Returns the secret with which the nodes pull the image, or null for a public image. Pure. */
export function toPullSecret(workload: Workload): Secret | null {
  const { owner, registry } = workload;
  if (registry === undefined) return null;
  const { username, password } = registry.credentials;
  const auth = Buffer.from(`${username}:${password.reveal()}`).toString('base64');
  const config = { auths: { [registry.host]: { username, password: password.reveal(), auth } } };
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: pullSecretName(workload),
      namespace: namespaceName(owner.installation, owner.environment),
      labels: rolloutLabels(workload, 'values'),
    },
    type: 'kubernetes.io/dockerconfigjson',
    data: { '.dockerconfigjson': Buffer.from(JSON.stringify(config)).toString('base64') },
  };
}
