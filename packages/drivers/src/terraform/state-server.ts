import { randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { StateLock, StateStore } from '../terraform-driver.ts';

export interface StateServer {
  /** Variables that make Terraform's backend `http` use it. */
  readonly environment: Readonly<Record<string, string>>;
  close(): Promise<void>;
}

const largestState = 64 * 1024 * 1024;

/**
 * Serves one state to one run by the protocol of Terraform's backend `http`, on this machine only and with a password that is good
 * for this run. It ends with the run, and with the process: what a run that was left behind would still write does not arrive.
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
    environment: {
      TF_HTTP_ADDRESS: address,
      TF_HTTP_LOCK_ADDRESS: address,
      TF_HTTP_UNLOCK_ADDRESS: address,
      TF_HTTP_USERNAME: 'davit',
      TF_HTTP_PASSWORD: password,
      TF_HTTP_RETRY_MAX: '2',
      TF_HTTP_RETRY_WAIT_MIN: '1',
      TF_HTTP_RETRY_WAIT_MAX: '2',
    },
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
  switch (request.method) {
    case 'GET': {
      const state = await store.read();
      if (state === null) response.writeHead(204).end();
      else response.writeHead(200, { 'content-type': 'application/json' }).end(state);
      return;
    }
    case 'POST': {
      const state = await bodyOf(request);
      if (state === null) response.writeHead(413).end();
      else {
        await store.write(state);
        response.writeHead(200).end();
      }
      return;
    }
    case 'LOCK': {
      const info = lockOf(await bodyOf(request));
      if (info === null) {
        response.writeHead(400).end();
        return;
      }
      const held = await store.lock(info);
      response.writeHead(held === null ? 200 : 423, { 'content-type': 'application/json' }).end(JSON.stringify(held ?? info));
      return;
    }
    case 'UNLOCK': {
      const info = lockOf(await bodyOf(request));
      // `force-unlock` sends the id alone, in other words than the lock was made with.
      const done = info !== null && (await store.unlock(info.ID));
      response.writeHead(done ? 200 : 409).end();
      return;
    }
    default:
      request.resume();
      response.writeHead(405).end();
  }
}

function lockOf(text: string | null): StateLock | null {
  try {
    const parsed: unknown = JSON.parse(text ?? '');
    if (typeof parsed !== 'object' || parsed === null || !('ID' in parsed) || typeof parsed.ID !== 'string') return null;
    return { ...parsed, ID: parsed.ID };
  } catch {
    return null;
  }
}

/** null: it is too large. */
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
