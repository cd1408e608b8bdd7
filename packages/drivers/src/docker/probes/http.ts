import http from 'node:http';
import https from 'node:https';
import { messageOf } from '@davit/base';
import { describeConnectError, type Target } from './tcp.ts';

export interface HttpCheck {
  readonly path: string;
  readonly scheme: 'HTTP' | 'HTTPS';
}

/** Number of bytes of a response body that are shown. */
const shownBytes = 200;

/**
 * Sends one GET request. Returns null for a status from 200 to 399, like Kubernetes 1.32, otherwise a description of
 * the failure. Redirects are not followed: an application that redirects is responding. Certificates are not verified:
 * a probe checks whether the instance works, not its identity.
 */
export function probeHttp(
  target: Target,
  check: HttpCheck,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<string | null> {
  return new Promise((resolve) => {
    const deadline = AbortSignal.timeout(timeoutMilliseconds);
    const options = {
      host: target.host,
      port: target.port,
      path: check.path.startsWith('/') ? check.path : `/${check.path}`,
      method: 'GET',
      headers: { host: `${target.host}:${target.port}`, 'user-agent': 'davit-probe', accept: '*/*', connection: 'close' },
      agent: false as const,
      signal: AbortSignal.any([signal, deadline]),
    };
    const failed = (error: NodeJS.ErrnoException): void =>
      resolve(deadline.aborted ? `no answer within ${timeoutMilliseconds / 1000} s` : describeConnectError(error));
    const answered = (response: http.IncomingMessage): void => {
      response.once('error', failed);
      const status = response.statusCode ?? 0;
      if (status >= 200 && status < 400) {
        response.destroy();
        resolve(null);
        return;
      }
      readStart(response, (body) => resolve(`status ${status}${body === '' ? '' : `: ${body}`}`));
    };
    try {
      const request =
        check.scheme === 'HTTPS'
          ? https.request({ ...options, rejectUnauthorized: false }, answered)
          : http.request(options, answered);
      request.once('error', failed);
      request.end();
    } catch (error) {
      // The path contains characters that are not allowed in a request line.
      resolve(messageOf(error));
    }
  });
}

function readStart(response: http.IncomingMessage, then: (body: string) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const finish = (): void => {
    response.destroy();
    then(Buffer.concat(chunks).subarray(0, shownBytes).toString('utf8').replace(/\s+/g, ' ').trim());
  };
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= shownBytes) finish();
  });
  response.once('end', finish);
  response.once('error', finish);
}
