import { request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';

interface Answer {
  readonly status: number;
  readonly body: string;
}

const answerWithinMilliseconds = 5_000;

/**
 * Sends a request to an address. Names under `localhost` mean this machine (RFC 6761, 6.3): browsers and curl know
 * that, but the resolvers of many systems do not.
 */
export function get(url: string): Promise<Answer> {
  const { hostname, port, host, pathname, search } = new URL(url);
  const address = hostname.endsWith('.localhost') ? '127.0.0.1' : hostname;
  return new Promise((resolve, reject) => {
    const options = {
      host: address,
      port: port || '80',
      path: pathname + search,
      headers: { host },
      timeout: answerWithinMilliseconds,
    };
    const requested = request(options, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
      response.once('error', reject);
    });
    requested.once('timeout', () => requested.destroy(new Error(`${url} does not answer`)));
    requested.once('error', reject);
    requested.end();
  });
}

/** Returns whether the address returns 200. */
export async function isAnswering(url: string): Promise<boolean> {
  try {
    return (await get(url)).status === 200;
  } catch {
    // No program listens on the port.
    return false;
  }
}

/** Opens an address that should return 200 by now. */
export async function openAddress(url: string): Promise<string> {
  const deadline = Date.now() + 10_000;
  for (;;) {
    const { status, body } = await get(url).catch((error: unknown) => ({ status: 0, body: String(error) }));
    if (status === 200) return body;
    if (Date.now() > deadline) throw new Error(`${url} answers ${status}: ${body.trim().slice(0, 500)}`);
    await pause(100);
  }
}
