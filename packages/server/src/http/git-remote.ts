import { Transform, Writable, type Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { AppError, pause } from '@davit/base';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../auth/caller.ts';
import type { Deploy, GitRemote } from '../git-remote/git-remote.ts';
import { ObjectLimit } from '../git-remote/object-limit.ts';
import type { GitService } from '../git-remote/git-process.ts';
import type { PushedRow } from '../git-remote/store.ts';
import { answerOf } from './answers.ts';
import { logFailure, securityHeaders } from './failures.ts';
import { limitRequest } from './limit.ts';
import type { HttpContext } from './context.ts';

interface Shape {
  Params: { readonly project: string; readonly environment: string; readonly service: string };
  Querystring: { readonly service?: string };
}
type GitRequest = FastifyRequest<Shape>;

const noStore = { ...securityHeaders, expires: 'Fri, 01 Jan 1980 00:00:00 GMT', pragma: 'no-cache' };
/** Milliseconds that a push and its deployment may take. */
const longestMilliseconds = 3_600_000;
/** Milliseconds that a client may still send after git has ended, for example because the push is too large. */
const restMilliseconds = 30_000;

/**
 * Adds the git remote: `/git/<project>/<environment>/<service>.git` in git's smart HTTP protocol. The routes are not
 * operations of the contract. The password is an API token, whose rights count as they do for the API.
 */
export async function addGitRemote(app: FastifyInstance, context: HttpContext, remote: GitRemote): Promise<void> {
  const base = '/git/:project/:environment/:service';
  const routes = new GitRoutes(app, context, remote);
  await app.register((git, _options, done) => {
    git.removeAllContentTypeParsers();
    // Packs are streamed to git, which limits their size.
    git.addContentTypeParser('*', (_request, payload, parsed) => parsed(null, payload));
    git.setErrorHandler((error, request, reply) => {
      const answer = answerOf(error, request.id);
      if (answer.status >= 500) logFailure(request, error, answer);
      return sendText(reply, answer);
    });
    git.get<Shape>(`${base}/info/refs`, (request, reply) => routes.list(request, reply));
    git.post<Shape>(`${base}/git-upload-pack`, (request, reply) => routes.serve(request, reply, 'upload-pack'));
    git.post<Shape>(`${base}/git-receive-pack`, (request, reply) => routes.serve(request, reply, 'receive-pack'));
    git.post<Shape>(`${base}/info/lfs/*`, (_request, reply) =>
      reply
        .code(501)
        .type('application/vnd.git-lfs+json')
        .send(JSON.stringify({ message: withoutLfs })),
    );
    done();
  });
}

class GitRoutes {
  readonly #app: FastifyInstance;
  readonly #context: HttpContext;
  readonly #remote: GitRemote;

  constructor(app: FastifyInstance, context: HttpContext, remote: GitRemote) {
    this.#app = app;
    this.#context = context;
    this.#remote = remote;
  }

  async list(request: GitRequest, reply: FastifyReply): Promise<void> {
    const name = request.query.service ?? '';
    if (name !== 'git-upload-pack' && name !== 'git-receive-pack') {
      throw new AppError({ code: 'MALFORMED_REQUEST', message: "Use git 1.6.6 or later: only git's smart protocol is served." });
    }
    const service = name === 'git-upload-pack' ? 'upload-pack' : 'receive-pack';
    const { row } = await this.#admit(request, reply, service === 'receive-pack');
    const git = await this.#remote.open(row, { service, isListing: true, protocol: protocolOf(request) });
    git.input.end();
    git.answer.end();
    begin(reply, `application/x-${name}-advertisement`);
    if (protocolOf(request)?.includes('version=2') !== true || service === 'receive-pack') {
      reply.raw.write(`${packet(`# service=${name}\n`)}0000`);
    }
    await finish(git.output, reply);
  }

  async serve(request: GitRequest, reply: FastifyReply, service: GitService): Promise<void> {
    const isPush = service === 'receive-pack';
    const { caller, row } = await this.#admit(request, reply, isPush);
    const git = await this.#remote.open(row, { service, isListing: false, protocol: protocolOf(request) });
    const gone = new AbortController();
    const leave = (): void => {
      gone.abort();
      git.stop();
    };
    const late = setTimeout(leave, longestMilliseconds);
    reply.raw.once('close', leave);
    begin(reply, `application/x-git-${service}-result`);
    // A pipeline that fails takes the socket from the request.
    const { socket } = request.raw;
    const { pushBytes, pushObjects } = this.#remote.limits;
    const objects = new ObjectLimit(pushObjects);
    const sent = pipeline([
      request.raw,
      ...(request.headers['content-encoding'] === 'gzip' ? [createGunzip()] : []),
      atMost(isPush ? pushBytes + commandBytes : commandBytes, git.input),
      ...(isPush ? [objects] : []),
      untilEnded(git.input),
    ]).catch(() => git.input.destroy());
    const answered = isPush
      ? this.#remote.answer(git, row, {
          caller,
          deploy: (id, commit) => this.#deploy(request, id, commit),
          gone: gone.signal,
        })
      : Promise.resolve(void git.answer.end());
    try {
      await finish(git.output, reply, () => objects.refusal);
      const waiting = new AbortController();
      await Promise.race([sent, pause(restMilliseconds, waiting.signal)]);
      waiting.abort();
      if (!request.raw.complete) socket.destroy();
      await Promise.all([sent, answered, git.ended]);
    } finally {
      clearTimeout(late);
    }
  }

  /** Returns the caller and the application. UNAUTHORIZED, NOT_FOUND, FORBIDDEN. */
  async #admit(request: GitRequest, reply: FastifyReply, isPush: boolean): Promise<{ caller: Caller; row: PushedRow }> {
    const authorization = tokenOf(request);
    if (authorization === null) {
      limitRequest(this.#context, reply, request.ip);
      throw new AppError({ code: 'UNAUTHORIZED', message: 'Send an API token as the password; any user name will do.' });
    }
    const { authenticator } = this.#context.options;
    const agent = request.headers['user-agent'];
    let caller = authenticator.remembered(authorization, agent);
    if (caller === undefined) {
      // An unknown token may be a guess. It is counted by address, before the database is queried.
      limitRequest(this.#context, reply, request.ip);
      caller = await authenticator.lookUp(authorization, agent);
    }
    limitRequest(this.#context, reply, caller.actor);
    const { project, environment, service } = request.params;
    if (!service.endsWith('.git')) {
      throw new AppError({ code: 'ROUTE_NOT_FOUND', message: 'The address of a repository ends with .git.' });
    }
    const row = await this.#remote.find(caller, { project, environment, service: service.slice(0, -4) }, isPush);
    return { caller, row };
  }

  /** Deploys through the API itself: with the rights, limits, codes and audit of the operation. */
  async #deploy(request: GitRequest, applicationId: string, commitId: string): ReturnType<Deploy> {
    const response = await this.#app.inject({
      method: 'POST',
      url: `/application/${applicationId}/deploy`,
      headers: { authorization: tokenOf(request) ?? '', 'user-agent': request.headers['user-agent'] ?? 'git' },
      remoteAddress: request.ip,
      payload: { git_commit_id: commitId },
    });
    const body: { readonly message?: string; readonly deployment_request_id?: string } = response.json();
    if (body.deployment_request_id !== undefined) return body.deployment_request_id;
    if (response.statusCode < 500) return { refusal: body.message ?? '' };
    const message = `Stored. The deployment could not be requested, which Davit tries again within a minute: ${body.message ?? ''}`;
    throw new AppError({ code: 'OVERLOADED', message });
  }
}

/** Bytes of a request besides a pack: names of references, and of commits that a client has. */
const commandBytes = 16 * 1024 * 1024;

/**
 * Fails once more bytes pass while git reads them: git keeps commands in memory, and a packed body may be a thousand
 * times larger.
 */
function atMost(bytes: number, input: Writable): Transform {
  let left = bytes;
  return new Transform({
    transform: (chunk: Buffer, _encoding, done) => {
      left -= chunk.length;
      if (left < 0 && input.writable) done(new Error('the request is too large'));
      else done(null, chunk);
    },
  });
}

/**
 * Passes a request to git. What comes after git has ended is read and dropped: a connection that is closed with unread
 * bytes is reset, and the client would not see why git ended.
 */
function untilEnded(input: Writable): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      if (input.writable) input.write(chunk, () => done());
      else done();
    },
    final: (done) => {
      input.end();
      done();
    },
  });
}

const withoutLfs =
  'Davit keeps no Git LFS objects. Add the files to git itself (git lfs migrate export), or deploy from a git host that has LFS.';

function begin(reply: FastifyReply, type: string): void {
  const own = reply.getHeaders();
  reply.hijack();
  for (const [name, value] of Object.entries({ ...own, ...noStore, 'content-type': type }))
    if (value !== undefined) reply.raw.setHeader(name, value);
  reply.raw.writeHead(200);
}

/**
 * Sends the output of git, and then why Davit refused the request, if it did. A client that left has nobody to report
 * to.
 */
async function finish(output: Readable, reply: FastifyReply, refusal: () => string | null = () => null): Promise<void> {
  await pipeline(output, reply.raw, { end: false }).catch(() => undefined);
  const message = refusal();
  // Channel 3 of git's side band is an error of the server, which the client prints.
  reply.raw.end(message === null ? undefined : packet(`\u0003${message}\n`));
}

function packet(text: string): string {
  return `${(text.length + 4).toString(16).padStart(4, '0')}${text}`;
}

function protocolOf({ headers }: GitRequest): string | null {
  const protocol = headers['git-protocol'];
  return typeof protocol === 'string' && /^[\w=:.-]{1,100}$/.test(protocol) ? protocol : null;
}

/** Returns the header with the API token that was sent as a password; null if there is none. */
function tokenOf({ headers }: GitRequest): string | null {
  const [scheme = '', encoded = ''] = (headers.authorization ?? '').split(' ', 2);
  if (scheme.toLowerCase() !== 'basic') return null;
  const password = Buffer.from(encoded, 'base64').toString('utf8').split(':').slice(1).join(':');
  return /^[\x21-\x7e]{1,512}$/.test(password) ? `Token ${password}` : null;
}

/** Sends an error as text, which git prints. */
function sendText(reply: FastifyReply, { status, message }: { readonly status: number; readonly message: string }): FastifyReply {
  if (reply.raw.headersSent) return reply;
  void reply.code(status).headers(securityHeaders).type('text/plain; charset=utf-8');
  if (status === 503) void reply.header('retry-after', '5');
  if (status === 401) void reply.header('www-authenticate', 'Basic realm="davit: an API token as the password"');
  return reply.send(`${message}\n`);
}
