import { request } from 'node:http';
import { abortablePause } from '@davit/base';
import type { Settings } from '../../configuration.ts';
import { AuthorityFailure } from './authority.ts';

interface Challenge {
  readonly host: string;
  readonly token: string;
  readonly answer: string;
}

const longestMilliseconds = 20_000;
const pollMilliseconds = 50;

/**
 * Resolves once the gateway of this machine answers a challenge, because an authority counts a missing answer as a
 * failure. Fails with AuthorityFailure after 20 seconds.
 */
export async function awaitChallenge(
  { gatewayHost, gatewayPort }: Settings<'gatewayHost' | 'gatewayPort'>,
  { host, token, answer }: Challenge,
  signal: AbortSignal,
): Promise<void> {
  const address = { '0.0.0.0': '127.0.0.1', '::': '::1' }[gatewayHost] ?? gatewayHost;
  const deadline = performance.now() + longestMilliseconds;
  for (;;) {
    const seen = await ask({ host: address, port: gatewayPort, path: `/.well-known/acme-challenge/${token}`, headers: { host } });
    if (seen === answer) return;
    if (performance.now() > deadline) {
      const message = `The gateway at ${address}:${gatewayPort} does not answer for the authority; the log of Davit and docs/operate.md tell more.`;
      throw new AuthorityFailure('GATEWAY', message);
    }
    await abortablePause(pollMilliseconds, signal);
  }
}

/** Returns the body of the response. Null if there is no response or it does not have the expected form. */
function ask(options: {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}): Promise<string | null> {
  return new Promise((resolve) => {
    const sent = request({ ...options, headers: { ...options.headers }, agent: false, timeout: 2000 }, (response) => {
      let text = '';
      response.on('data', (chunk: Buffer) => (text = `${text}${chunk.toString()}`.slice(0, 2000)));
      response.on('error', () => resolve(null));
      response.on('end', () => resolve(response.statusCode === 200 ? text : null));
    });
    sent.on('error', () => resolve(null));
    sent.on('timeout', () => sent.destroy());
    sent.end();
  });
}
