import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { StateStore } from '../terraform-driver.ts';
import { answerState, largestState, stateVariables } from '../terraform-state.ts';

export interface StateServer {
  /** Variables that make Terraform's backend `http` use this server. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

/**
 * Serves one state to one run by the protocol of Terraform's backend `http`, on this machine only and with a password
 * that is valid for this run only. The server ends with the run, and with the process: later writes of a run that was
 * left behind are lost.
 */
export async function serveState(store: StateStore): Promise<StateServer> {
  const password = randomBytes(32).toString('base64url');
  const expected = Buffer.from(`Basic ${Buffer.from(`davit:${password}`).toString('base64')}`);
  const server = createServer((request, response) => {
    const given = Buffer.from(request.headers.authorization ?? '');
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      request.resume();
      response.writeHead(401, { 'www-authenticate': 'Basic realm="state"' }).end();
      return;
    }
    answer(store, request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end(error instanceof Error ? error.name : 'error');
    });
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = `http://127.0.0.1:${portOf(server)}/state`;
  return {
    environment: stateVariables(address, { password, attempts: 2, longestPauseSeconds: 2 }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server of the state has no port');
  return address.port;
}

async function answer(store: StateStore, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { status, body } = await answerState(store, { method: request.method ?? '', body: await bodyOf(request) });
  response.writeHead(status, body === null ? {} : { 'content-type': 'application/json' }).end(body ?? undefined);
}

/** Returns the body; null if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    if (!(chunk instanceof Buffer)) continue;
    size += chunk.length;
    if (size <= largestState) chunks.push(chunk);
  }
  return size > largestState ? null : Buffer.concat(chunks).toString('utf8');
}
