import { readFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import { messageOf } from '@davit/base';
import { DriverError } from '../../errors.ts';
import type { ClusterAccess } from './kubeconfig.ts';

/** Folder in which a pod finds the credentials of its service account. */
const serviceAccountFolder = '/var/run/secrets/kubernetes.io/serviceaccount';

// The kubelet renews the token when a fifth of its lifetime is left, so some minutes before it expires.
const rememberMilliseconds = 10_000;

/**
 * Returns how the pod of this process reaches the API server of its own cluster. The token is read again from time to
 * time, because it is valid for only an hour. Fails with CLUSTER_ACCESS_INVALID outside of a pod, or if the pod has no
 * token.
 */
export function readServiceAccount(
  environment: Readonly<Record<string, string | undefined>> = process.env,
  folder: string = serviceAccountFolder,
): ClusterAccess {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port = '443' } = environment;
  if (host === '') throw invalid('KUBERNETES_SERVICE_HOST is not set: this process does not run in a pod');
  const token = new TokenFile(join(folder, 'token'));
  // The token is read at once, so that a missing file is detected here and not during a later operation.
  token.read();
  return {
    server: `https://${isIPv6(host) ? `[${host}]` : host}:${port}`,
    isUnchecked: false,
    authority: read(join(folder, 'ca.crt')),
    get token() {
      return token.read();
    },
  };
}

class TokenFile {
  readonly #file: string;
  #text = '';
  #readAt = -Infinity;

  constructor(file: string) {
    this.#file = file;
  }

  read(): string {
    if (performance.now() - this.#readAt < rememberMilliseconds) return this.#text;
    this.#text = read(this.#file).trim();
    this.#readAt = performance.now();
    return this.#text;
  }
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw invalid(`${file} cannot be read: ${messageOf(error)}`);
  }
}

function invalid(what: string): DriverError {
  return new DriverError({
    cause: 'CLUSTER_ACCESS_INVALID',
    message: `Davit is set to work on this cluster with the service account of its own pod, but ${what}.`,
    hint: 'Run every process of Davit in a pod of that cluster with automountServiceAccountToken, or remove in_cluster from the settings of the cluster.',
  });
}
