import { createServer } from 'node:net';
import { DriverError } from '../errors.ts';
import type { ConfigurationFiles } from './haproxy-config.ts';
import { configurationFile } from './haproxy-config.ts';
import { listenAddress } from './haproxy-routes.ts';

/** A port on which the gateway should listen, and the setting that names it. */
export interface OwnPort {
  readonly port: number;
  readonly variable: string;
}

/** Returns whether a program already listens on the port. */
export async function isPortTaken(port: number, host: string): Promise<boolean> {
  return (await whyUnavailable(port, host)) === 'EADDRINUSE';
}

/** Fails with PORT_TAKEN or GATEWAY_FAILED, naming port and setting, if the gateway cannot listen on the port. */
export async function refuseUnavailable({ port, variable }: OwnPort, host: string): Promise<void> {
  const code = await whyUnavailable(port, host);
  if (code === 'EADDRINUSE') {
    throw new DriverError({
      cause: 'PORT_TAKEN',
      message: `Port ${port} of ${host}, on which the gateway should listen, is in use by another program.`,
      hint: `Set ${variable} to a free port, or end the other program, then start Davit again.`,
    });
  }
  if (code !== 'EACCES') return;
  throw new DriverError({
    cause: 'GATEWAY_FAILED',
    message: `This user is not permitted to listen on port ${port} (${variable}).`,
    hint: `Ports below 1024 need root or CAP_NET_BIND_SERVICE. Grant that, or set ${variable} to a port from 1024 on.`,
  });
}

/**
 * Returns those of the ports that a HAProxy with the stored configuration does not listen on yet. The ports that it has
 * are taken by itself.
 */
export function newPorts(ports: readonly OwnPort[], stored: ConfigurationFiles, host: string): readonly OwnPort[] {
  const lines = (stored[configurationFile] ?? '').split('\n');
  return ports.filter(({ port }) => !lines.some((line) => `${line} `.startsWith(`  bind ${listenAddress(host, port)} `)));
}

/**
 * Returns the error code of listening on the port; null if it succeeds. Tests it by listening: HAProxy itself would
 * retry for seconds.
 */
async function whyUnavailable(port: number, host: string): Promise<string | null> {
  const server = createServer();
  return await new Promise((resolve) => {
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message));
    server.listen({ port, host, exclusive: true }, () => server.close(() => resolve(null)));
  });
}
