import { connect } from 'node:net';

export interface Target {
  readonly host: string;
  readonly port: number;
  /**
   * Whether a proxy of the engine is in between (a published port). The proxy accepts every connection and closes it if
   * nothing listens behind it. A connection therefore only counts if it stays open for a moment.
   */
  readonly isProxied: boolean;
}

const proxyMomentMilliseconds = 100;

/** Opens one connection. Returns null if it was accepted, otherwise a description of the failure. */
export function probeTcp(target: Target, timeoutMilliseconds: number, signal: AbortSignal): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ host: target.host, port: target.port });
    let moment: NodeJS.Timeout | undefined;
    const finish = (seen: string | null): void => {
      clearTimeout(moment);
      clearTimeout(deadline);
      signal.removeEventListener('abort', abort);
      socket.destroy();
      resolve(seen);
    };
    const deadline = setTimeout(() => finish(`no connection within ${timeoutMilliseconds / 1000} s`), timeoutMilliseconds);
    const abort = (): void => finish('given up');
    signal.addEventListener('abort', abort, { once: true });
    socket.once('error', (error: NodeJS.ErrnoException) => finish(describeConnectError(error)));
    socket.once('connect', () => {
      if (!target.isProxied) return finish(null);
      socket.once('close', () => finish('connection refused'));
      socket.once('data', () => finish(null));
      moment = setTimeout(() => finish(null), proxyMomentMilliseconds);
    });
  });
}

/** Returns a description of a connection error. */
export function describeConnectError(error: NodeJS.ErrnoException): string {
  switch (error.code) {
    case 'ECONNREFUSED':
      return 'connection refused';
    case 'ECONNRESET':
    case 'EPIPE':
      return 'connection closed without an answer';
    case 'EHOSTUNREACH':
    case 'ENETUNREACH':
      return 'no route to the instance';
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return 'host name not found';
    default:
      return error.message;
  }
}
