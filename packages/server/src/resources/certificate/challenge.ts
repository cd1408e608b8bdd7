import { abortablePause } from '@davit/base';
import type { Settings } from '../../configuration.ts';
import { isIPv6 } from 'node:net';
import { send, startOf } from '@davit/base-node';
import { AuthorityFailure } from './authority.ts';

interface Challenge {
  readonly host: string;
  readonly token: string;
  readonly answer: string;
}

const longestMilliseconds = 20_000;
const pollMilliseconds = 50;
const answerMilliseconds = 2_000;
const maxBytes = 2_000;

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
  const url = `http://${isIPv6(address) ? `[${address}]` : address}:${gatewayPort}/.well-known/acme-challenge/${token}`;
  const deadline = performance.now() + longestMilliseconds;
  for (;;) {
    if ((await ask(url, host)) === answer) return;
    if (performance.now() > deadline) {
      const message = `The gateway at ${address}:${gatewayPort} does not answer the challenge of the authority; see the log of Davit and docs/operate.md.`;
      throw new AuthorityFailure('GATEWAY', message);
    }
    await abortablePause(pollMilliseconds, signal);
  }
}

/** Returns the body of the response. Null if there is no response or it does not have the expected form. */
async function ask(url: string, host: string): Promise<string | null> {
  try {
    const response = await send({ method: 'GET', url, headers: { host }, signal: AbortSignal.timeout(answerMilliseconds) });
    const text = (await startOf(response, maxBytes)).toString('utf8');
    return response.statusCode === 200 ? text : null;
  } catch {
    return null;
  }
}
