import { execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { CallContext } from '../driver.ts';

/** A repository to fetch from, made with the real git. */
export class TestRepository {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
    mkdirSync(folder, { recursive: true });
    this.git('init', '--quiet', '--initial-branch=main');
  }

  git(...args: string[]): string {
    return execFileSync('git', ['-C', this.folder, ...args], {
      env: gitEnvironment,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  }

  /** Writes files and commits them; returns the commit's id. */
  commit(message: string, files: Readonly<Record<string, string>> = {}): string {
    for (const [path, content] of Object.entries(files)) {
      mkdirSync(dirname(join(this.folder, path)), { recursive: true });
      writeFileSync(join(this.folder, path), content);
    }
    this.git('add', '--all');
    this.git('commit', '--quiet', '--allow-empty', `--message=${message}`);
    return this.git('rev-parse', 'HEAD');
  }
}

const gitEnvironment = {
  PATH: process.env['PATH'] ?? '',
  HOME: '/nonexistent',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_AUTHOR_NAME: 'Ada',
  GIT_AUTHOR_EMAIL: 'ada@example.com',
  GIT_COMMITTER_NAME: 'Ada',
  GIT_COMMITTER_EMAIL: 'ada@example.com',
  GIT_ALLOW_PROTOCOL: 'file',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.directory',
  GIT_CONFIG_VALUE_0: '*',
};

export interface GitServerBehaviour {
  /** `name:password` of basic authentication; null: no authentication. */
  login?: string | null;
  /** Uses protocol version 0, in which a host serves only the tips of branches. */
  refusesIds?: boolean;
  /** Responds with this status only. */
  status?: number;
  /** Redirects all requests to this address. */
  redirect?: string | null;
  /** Accepts requests and never responds. */
  isSilent?: boolean;
  /** Sends this many bytes of each response, and then nothing. */
  stopsAfterBytes?: number;
}

export interface GitServer {
  readonly url: string;
  readonly port: number;
  readonly behaviour: GitServerBehaviour;
  /** All requests so far. */
  readonly requests: { readonly path: string; readonly authorization: string | undefined }[];
  /** Bytes that git sent so far. */
  readonly sent: { bytes: number };
  close(): Promise<void>;
}

/** Serves `git http-backend` on loopback, as hosts do. */
export async function startGitServer(root: string, behaviour: GitServerBehaviour = {}): Promise<GitServer> {
  const requests: { path: string; authorization: string | undefined }[] = [];
  const sent = { bytes: 0 };
  const server = createServer((request, response) => {
    requests.push({ path: request.url ?? '', authorization: request.headers.authorization });
    answer(root, behaviour, { request, response, sent });
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    behaviour,
    requests,
    sent,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly sent: { bytes: number };
}

function answer(root: string, behaviour: GitServerBehaviour, exchange: Exchange): void {
  const { request, response } = exchange;
  if (behaviour.isSilent) return;
  if (behaviour.redirect) {
    response.writeHead(302, { location: behaviour.redirect + (request.url ?? '') }).end();
  } else if (behaviour.status !== undefined) {
    response.writeHead(behaviour.status).end('<html><body>Welcome</body></html>\n');
  } else if (behaviour.login && request.headers.authorization !== `Basic ${Buffer.from(behaviour.login).toString('base64')}`) {
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  } else {
    serve(root, behaviour, exchange);
  }
}

function serve(root: string, behaviour: GitServerBehaviour, { request, response, sent }: Exchange): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const protocol = request.headers['git-protocol'];
  const child = spawn('git', ['http-backend'], {
    env: {
      ...gitEnvironment,
      GIT_PROJECT_ROOT: root,
      GIT_HTTP_EXPORT_ALL: '1',
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      REQUEST_METHOD: request.method ?? 'GET',
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      ...(typeof protocol === 'string' && !behaviour.refusesIds && { GIT_PROTOCOL: protocol }),
    },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  request.pipe(child.stdin);
  child.stdin.on('error', () => undefined); // The backend may exit before it has read all; its response says why.
  let head: Buffer | null = Buffer.alloc(0);
  let received = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    sent.bytes += chunk.length;
    received += chunk.length;
    if (received > (behaviour.stopsAfterBytes ?? Number.POSITIVE_INFINITY)) {
      child.stdout.pause();
      return;
    }
    if (head === null) {
      response.write(chunk);
      return;
    }
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end < 0) return;
    const headers = head
      .subarray(0, end)
      .toString()
      .split('\r\n')
      .map((line) => line.split(': ', 2));
    const status = headers.find(([name]) => name === 'Status')?.[1];
    response.writeHead(
      status === undefined ? 200 : Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name !== 'Status')),
    );
    response.write(head.subarray(end + 4));
    head = null;
  });
  // A client that was killed leaves a backend that nobody reads.
  response.once('close', () => child.kill());
  child.once('close', () => response.end());
}

function listen(server: Server): Promise<number> {
  return new Promise((resolve) => {
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : 0);
    });
  });
}

export interface Recorded extends CallContext {
  readonly lines: string[];
}

export function recordedContext(signal: AbortSignal = new AbortController().signal): Recorded {
  const lines: string[] = [];
  return { signal, lines, log: (line) => void lines.push(line) };
}

/** Creates a folder for this test; the caller removes it. */
export function scratchFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'davit-source-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
