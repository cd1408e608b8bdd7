import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openConnection, type Connection, type TlsSettings } from '@davit/base-node';

/** A connection to a container engine. */
export interface EngineConnection {
  readonly connection: Connection;
  /** API version of the requests, such as `1.47`; null: the engine's own. */
  readonly apiVersion: string | null;
}

/** Milliseconds after which an unused socket is closed: Podman's service ends when nothing is connected to it. */
const idleMilliseconds = 5_000;

/**
 * Returns a connection to the engine at an address in the form of a `DOCKER_HOST`. Does not contact the engine. TLS is
 * used for `https://` and if `DOCKER_TLS_VERIFY` is `1`, with the certificates in the folder `DOCKER_CERT_PATH`.
 */
export function connectEngine(address: string, environment: Readonly<Record<string, string | undefined>> = {}): EngineConnection {
  if (address.startsWith('unix://')) {
    const socketPath = address.slice('unix://'.length);
    return { connection: openConnection({ origin: 'http://localhost', socketPath, idleMilliseconds }), apiVersion: null };
  }
  const url = new URL(address);
  const hasTls = environment.DOCKER_TLS_VERIFY === '1' || url.protocol === 'https:';
  const port = url.port || (hasTls ? '2376' : '2375');
  const origin = `${hasTls ? 'https' : 'http'}://${url.hostname}:${port}`;
  const folder = environment.DOCKER_CERT_PATH;
  const tls = hasTls && folder ? certificatesIn(folder) : {};
  return { connection: openConnection({ origin, tls, idleMilliseconds }), apiVersion: null };
}

function certificatesIn(folder: string): TlsSettings {
  const [ca, cert, key] = ['ca.pem', 'cert.pem', 'key.pem'].map((name) => readFileSync(join(folder, name), 'utf8'));
  return { ca, cert, key };
}
