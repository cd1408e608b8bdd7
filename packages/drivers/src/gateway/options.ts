import { isIP } from 'node:net';
import type { HttpRoute } from '../gateway.ts';
import { failure } from './haproxy-process.ts';
import type { ErrorPages } from './pages.ts';
import type { OwnPort } from './ports.ts';

export interface GatewayOptions {
  /** The gateway's own folder for configuration, sockets and state. Created if missing. */
  readonly stateFolder: string;
  /** Port for HTTP and gRPC. */
  readonly port: number;
  /** Port for HTTPS; absent: no HTTPS. */
  readonly httpsPort?: number;
  /** IP address to listen on, also for TCP routes. `0.0.0.0` is all of IPv4; `::` is all of IPv4 and IPv6. */
  readonly bindAddress: string;
  /** Name or path of HAProxy; default `haproxy`. */
  readonly program?: string;
  /** Pages that replace the gateway's own pages. */
  readonly errorPages?: ErrorPages;
  /**
   * Addresses or networks (CIDR) of proxies in front of the gateway, whose X-Forwarded-* headers are passed on; default
   * none.
   */
  readonly trustedProxies?: readonly string[];
  /**
   * Routes of Davit itself, which are always served, over HTTPS only. No route of a table may have their hosts.
   * Default: none.
   */
  readonly ownRoutes?: readonly HttpRoute[];
  /** Seconds for which browsers remember that a host is reached over HTTPS only (RFC 6797); default 0: not at all. */
  readonly hstsSeconds?: number;
  /** Seconds that a client has to finish a TLS handshake, and to begin at a TCP port that accepts TLS; default 30. */
  readonly handshakeSeconds?: number;
  /** Receives a line about events that an operator may want to know. */
  readonly log?: (line: string) => void;
}

const moveFolder = 'Set DAVIT_HOME to a folder with a short, plain name.';

/**
 * Fails with GATEWAY_FAILED if HAProxy cannot work with the options. `folder`: the absolute path of the state folder.
 */
export function refuseBadOptions(options: GatewayOptions, folder: string): void {
  const networks = options.trustedProxies ?? [];
  if (!/^[\w./~+@ -]+$/.test(folder)) {
    throw failure(
      `The state folder ${JSON.stringify(folder)} has characters that HAProxy does not accept.`,
      undefined,
      undefined,
      moveFolder,
    );
  }
  // A socket's path may have 107 bytes, and HAProxy first binds under a longer temporary name.
  if (folder.length > 80) {
    throw failure(`The state folder ${folder} is longer than 80 characters.`, undefined, undefined, moveFolder);
  }
  if (isIP(options.bindAddress) === 0) throw failure(`${JSON.stringify(options.bindAddress)} is not an IP address to listen on.`);
  for (const port of [options.port, options.httpsPort ?? 1]) {
    if (!Number.isInteger(port) || port < 1 || port > 65_535) throw failure(`${port} is not a port.`);
  }
  if (options.port === options.httpsPort) throw failure(`Port ${options.port} cannot be used for both HTTP and HTTPS.`);
  const bad = networks.find((network) => !/^[0-9A-Fa-f:.]+(\/\d{1,3})?$/.test(network));
  if (bad !== undefined) throw failure(`${JSON.stringify(bad)} is not an address or network of a proxy.`);
}

/** Returns the gateway's ports for HTTP and HTTPS, each with its setting. */
export function ownPorts({ port, httpsPort }: GatewayOptions): OwnPort[] {
  const https = httpsPort === undefined ? [] : [{ port: httpsPort, variable: 'DAVIT_GATEWAY_HTTPS_PORT' }];
  return [{ port, variable: 'DAVIT_GATEWAY_PORT' }, ...https];
}
