import { createGunzip } from 'node:zlib';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import path from 'node:path';
import { AppError } from '@davit/base';
import { operations, type Operation } from '@davit/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { callerAt, notFound } from '../../auth/authorize.ts';
import { answerOf } from '../answers.ts';
import type { HttpContext } from '../context.ts';
import { securityHeaders } from '../failures.ts';
import { limitRequest } from '../limit.ts';
import { followDeployment, type Report } from './follow.ts';
import { OwnRepository, type GitService } from './repository.ts';
import { keepAlive, Packets, remoteText } from './sideband.ts';
import { servicesAt, type RemoteRow } from './store.ts';

interface Shape {
  Params: { project: string; environment: string; file: string };
  Querystring: { service?: string };
}

interface Remote {
  readonly service: RemoteRow;
  readonly repository: OwnRepository;
  readonly branch: string;
  /** The header with which Davit's own API is called in the caller's name. */
  readonly authorization: string;
}

const maximumPushesAtOnce = 4;
const keepAliveMilliseconds = 10_000;

/**
 * Adds the repositories that services are pushed to, with git's protocol over HTTP. They are not operations of the
 * contract. A push needs the rights to edit and to deploy the service, reading the repository the right to read it.
 */
export async function addGitRemote(app: FastifyInstance, context: HttpContext): Promise<void> {
  const pushes = new Map<string, number>();
  await app.register((git, _options, done) => {
    git.removeAllContentTypeParsers();
    git.setErrorHandler(sendText);
    // The body is streamed to git: a pack is never in memory.
    git.addContentTypeParser('*', (_request, body, parsed) => parsed(null, body));
    git.get<Shape>('/git/:project/:environment/:file/info/refs', async (request, reply) => {
      const { service } = request.query;
      if (service !== 'git-upload-pack' && service !== 'git-receive-pack') throw notFound('service of git');
      await advertise(await open(context, request, reply, service), service, request, reply);
    });
    git.post<Shape>('/git/:project/:environment/:file/git-upload-pack', async (request, reply) => {
      const remote = await open(context, request, reply, 'git-upload-pack');
      await exchange(remote, 'git-upload-pack', request, reply);
    });
    git.post<Shape>('/git/:project/:environment/:file/git-receive-pack', async (request, reply) => {
      const remote = await open(context, request, reply, 'git-receive-pack');
      const { organization_id: organization } = remote.service;
      const underway = pushes.get(organization) ?? 0;
      if (underway >= maximumPushesAtOnce) {
        void reply.header('retry-after', '10');
        throw new AppError({
          code: 'RATE_LIMITED',
          message: 'Too many pushes of this organization run now. Push again in 10 s.',
        });
      }
      pushes.set(organization, underway + 1);
      try {
        await receive(app, context, { remote, request, reply });
      } finally {
        const left = (pushes.get(organization) ?? 1) - 1;
        if (left === 0) pushes.delete(organization);
        else pushes.set(organization, left);
      }
    });
    done();
  });
}

/** Returns the repository that the request names. Throws UNAUTHORIZED, FORBIDDEN, or NOT_FOUND for what is not visible. */
async function open(context: HttpContext, request: FastifyRequest<Shape>, reply: FastifyReply, git: GitService): Promise<Remote> {
  limitRequest(context, reply, request.ip);
  const authorization = authorizationOf(request);
  const { authenticator, database, engine, publicUrl, repositoriesFolder } = context.options;
  const caller = await authenticator.lookUp(authorization, request.headers['user-agent']);
  const { project, environment, file } = request.params;
  if (!file.endsWith('.git')) throw notFound('repository');
  const rows = await database.many(servicesAt, [project, environment, file.slice(0, -'.git'.length)]);
  const operation: Operation = git === 'git-receive-pack' ? operations.editApplication : operations.getApplication;
  for (const service of rows.filter(({ type }) => type === 'APPLICATION')) {
    try {
      await callerAt({ database, engine }, caller, operation, { applicationId: service.id });
    } catch (error) {
      if (error instanceof AppError && error.code === 'NOT_FOUND') continue;
      throw error;
    }
    const url = ownUrl(service, [request.host, publicUrl === null ? '' : new URL(publicUrl).host]);
    const repository = new OwnRepository(path.resolve(repositoriesFolder), service.organization_id, url);
    const branch = service.branch ?? 'main';
    await repository.ensure(branch);
    return { service, repository, branch, authorization };
  }
  throw new AppError({
    code: 'NOT_FOUND',
    message:
      'There is no such application. Create it first (davit up, or POST /environment/{environmentId}/application) with this URL as its git_repository.url, then push again.',
  });
}

/** Returns the URL of the service's repository. Throws CONFLICT if the service comes from elsewhere. */
function ownUrl({ name, url }: RemoteRow, hosts: readonly string[]): string {
  const parsed = url !== null && URL.canParse(url) ? new URL(url) : null;
  if (
    url !== null &&
    parsed !== null &&
    hosts.includes(parsed.host) &&
    /^\/git\/[^/]+\/[^/]+\/[^/]+\.git$/.test(parsed.pathname)
  ) {
    return url;
  }
  throw new AppError({
    code: 'CONFLICT',
    message: `${name} is built from another repository. Set its git_repository.url to this URL to push to Davit, or push to that repository.`,
  });
}

/** Returns the header for the API: git sends the token as the password of any user. */
function authorizationOf({ headers }: FastifyRequest): string {
  const [scheme = '', encoded = ''] = (headers.authorization ?? '').split(' ', 2);
  if (scheme.toLowerCase() === 'bearer' || scheme.toLowerCase() === 'token') return headers.authorization ?? '';
  const password = Buffer.from(encoded, 'base64').toString('utf8').split(':').slice(1).join(':');
  if (scheme.toLowerCase() === 'basic' && /^\S+$/.test(password)) return `Token ${password}`;
  throw new AppError({
    code: 'UNAUTHORIZED',
    message: 'A token is needed: use an API token as the password, with any user name.',
  });
}

/** Answers with the message alone, as git shows an error only if it is plain text. */
function sendText(error: unknown, request: FastifyRequest, reply: FastifyReply): void {
  const answer = answerOf(error, request.id);
  if (answer.status === 401) void reply.header('www-authenticate', 'Basic realm="Davit", charset="UTF-8"');
  if (answer.status === 503) void reply.header('retry-after', '5');
  if (answer.status >= 500) request.log.error(error, 'a request of git failed');
  void reply.code(answer.status).headers(securityHeaders).type('text/plain; charset=utf-8').send(`${answer.message}\n`);
}

function protocolOf({ headers }: FastifyRequest): string {
  const sent = headers['git-protocol'];
  return typeof sent === 'string' && /^version=[012]$/.test(sent) ? sent : '';
}

function start(reply: FastifyReply, type: string): void {
  reply.hijack();
  reply.raw.writeHead(200, { 'content-type': type, 'cache-control': 'no-cache', 'x-content-type-options': 'nosniff' });
}

async function advertise(remote: Remote, service: GitService, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const child = remote.repository.serve(service, { advertises: true, protocol: protocolOf(request) });
  child.stderr.resume();
  await spawned(child);
  start(reply, `application/x-${service}-advertisement`);
  const line = `# service=${service}\n`;
  reply.raw.write(`${(line.length + 4).toString(16).padStart(4, '0')}${line}0000`);
  child.stdin.end();
  await pipeline(child.stdout, reply.raw);
}

type Child = ReturnType<OwnRepository['serve']>;

/** Waits until the program runs. Throws SERVICE_UNAVAILABLE if it cannot be started. */
async function spawned(child: Child): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', (cause) =>
      reject(
        new AppError({ code: 'OVERLOADED', message: 'git cannot be started on the server now. Push again in a minute.', cause }),
      ),
    );
  });
}

/** Sends the body to git. Ends git if the client goes away before the body is complete. */
function feed({ body, headers }: FastifyRequest, child: Child): Promise<void> {
  const sent = body as Readable;
  const fed = headers['content-encoding'] === 'gzip' ? pipeline(sent, createGunzip(), child.stdin) : pipeline(sent, child.stdin);
  return fed.catch((error: NodeJS.ErrnoException) => {
    // Git has refused the push and says so in its output.
    if (error.code === 'EPIPE') return;
    child.kill();
  });
}

async function exchange(remote: Remote, service: GitService, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  const child = remote.repository.serve(service, { advertises: false, protocol: protocolOf(request) });
  child.stderr.resume();
  await spawned(child);
  start(reply, `application/x-${service}-result`);
  await Promise.all([feed(request, child), pipeline(child.stdout, reply.raw)]);
}

interface Push {
  readonly remote: Remote;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** Receives a push, deploys the branch of the service if the push changed it, and reports the deployment to git. */
async function receive(app: FastifyInstance, context: HttpContext, { remote, request, reply }: Push): Promise<void> {
  const { repository, branch, service } = remote;
  const before = await repository.head(branch);
  const child = repository.serve('git-receive-pack', { advertises: false, protocol: protocolOf(request) });
  child.stderr.resume();
  await spawned(child);
  start(reply, 'application/x-git-receive-pack-result');
  const packets = new Packets();
  const fed = feed(request, child);
  for await (const chunk of child.stdout) reply.raw.write(packets.add(chunk as Buffer));
  await fed;
  if (packets.hasEnded) {
    const isGone = (): boolean => reply.raw.destroyed;
    const report: Report = (line) => void (isGone() || reply.raw.write(remoteText(`${line}\n`)));
    const timer = setInterval(() => void (isGone() || reply.raw.write(keepAlive)), keepAliveMilliseconds);
    try {
      const after = await repository.head(branch);
      if (after === null || after === before) report(`Davit deploys the branch ${branch}; this push did not change it.`);
      else await followDeployment({ app, context, service, commit: after, authorization: remote.authorization, report, isGone });
    } catch (error) {
      report(error instanceof AppError ? error.message : 'The deployment could not be followed. See its log in Davit.');
      request.log.error(error, 'a push could not be deployed or followed');
    } finally {
      clearInterval(timer);
    }
  }
  reply.raw.end(packets.end());
}
