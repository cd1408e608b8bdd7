import { request } from 'node:http';

/**
 * Returns true if a GET returns status 200. The request uses a new connection: a connection opened before the node knew
 * of a Service may lead anywhere.
 */
export function isAnswered(url: string): Promise<true | undefined> {
  return new Promise((resolve) => {
    const requested = request(url, { agent: false, timeout: 2_000 }, (response) => {
      response.resume();
      resolve(response.statusCode === 200 ? true : undefined);
    });
    requested.once('timeout', () => requested.destroy());
    requested.once('error', () => resolve(undefined));
    requested.end();
  });
}
