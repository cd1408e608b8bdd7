import http from 'node:http';
import https from 'node:https';

/** The TLS side of a connection: PEM texts, and the name that the server's certificate must carry. */
export interface TlsSettings {
  /** Authority that signs the server's certificate. Left out: the authorities that Node.js trusts. */
  readonly ca?: string;
  /** Certificate and key with which the client authenticates. */
  readonly cert?: string;
  readonly key?: string;
  /** Left out: the host of the URL. */
  readonly servername?: string;
  /** False accepts every certificate. Default: true. */
  readonly rejectUnauthorized?: boolean;
}

export interface ConnectionInput {
  /** `http://host:port` or `https://host:port`, with the path that all requests begin with, if there is one. */
  readonly origin: string;
  /** Path of a unix socket, which is used instead of the host and port. */
  readonly socketPath?: string;
  readonly tls?: TlsSettings;
  /** Most sockets for requests whose responses are read at once. Default: no limit. */
  readonly maxSockets?: number;
  /** Milliseconds after which an unused socket is closed. Default: when the server closes it. */
  readonly idleMilliseconds?: number;
}

/** A server that is called again and again, over sockets that stay open between requests. */
export interface Connection {
  readonly origin: string;
  readonly socketPath?: string;
  /** Sockets of requests whose responses are read at once. */
  readonly calls: http.Agent;
  /** Sockets of responses that last: one for each log and watch, so that none of them delays a call. */
  readonly streams: http.Agent;
  /** Closes all sockets, including those in use. */
  close(): void;
}

/** Returns a connection. Does not contact the server. */
export function openConnection({ origin, socketPath, tls, maxSockets, idleMilliseconds }: ConnectionInput): Connection {
  const Agent = origin.startsWith('https:') ? https.Agent : http.Agent;
  // Sockets in use have no such limit: the agent closes only those that nobody uses.
  const settings = { keepAlive: true, ...(idleMilliseconds !== undefined && { timeout: idleMilliseconds }), ...tls };
  const calls = new Agent({ ...settings, ...(maxSockets !== undefined && { maxSockets }) });
  const streams = new Agent(settings);
  const close = (): void => {
    calls.destroy();
    streams.destroy();
  };
  return { origin, ...(socketPath !== undefined && { socketPath }), calls, streams, close };
}
