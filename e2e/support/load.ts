import { Agent, request } from 'node:http';

/** What became of the requests of a load. */
export interface Load {
  readonly answered: number;
  /** Those that got no answer, or another one than was promised, in words. */
  readonly lost: readonly string[];
}

/**
 * Asks without a pause, on some connections that are kept as long as the server keeps them, until `act` is done. Nothing is asked a second
 * time: a request that finds its connection closed is lost.
 */
export async function underLoad(
  { address, headers }: { readonly address: string; readonly headers: Readonly<Record<string, string>> },
  { path, clients }: { readonly path: string; readonly clients: number },
  act: () => Promise<void>,
): Promise<Load> {
  const lost: string[] = [];
  let answered = 0;
  const over = new AbortController();
  const ask = async (): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    while (!over.signal.aborted) {
      const status = await statusOf(new URL(path, address), headers, agent);
      if (status === '200') answered += 1;
      else lost.push(`${new Date().toISOString()} ${status}`);
    }
    agent.destroy();
  };
  const asking = Array.from({ length: clients }, ask);
  try {
    await act();
  } finally {
    over.abort();
    await Promise.all(asking);
  }
  return { answered, lost };
}

const timeoutMilliseconds = 30_000;

function statusOf(url: URL, headers: Readonly<Record<string, string>>, agent: Agent): Promise<string> {
  return new Promise((resolve) => {
    const sent = request(url, { headers, agent, timeout: timeoutMilliseconds }, (response) => {
      response.resume();
      response.once('end', () => resolve(response.complete ? String(response.statusCode) : 'half an answer'));
      response.once('error', (error) => resolve(error.message));
    });
    sent.once('timeout', () => sent.destroy(new Error(`no answer within ${timeoutMilliseconds} ms`)));
    sent.once('error', (error) => resolve(`${sent.reusedSocket ? 'on a kept connection: ' : ''}${error.message}`));
    sent.end();
  });
}
