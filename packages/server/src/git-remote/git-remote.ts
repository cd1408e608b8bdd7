import { AppError, isAppError, ownRepositoryId, pause } from '@davit/base';
import { operations } from '@davit/contract';
import type { Database } from '@davit/db';
import type { DeploymentLogLine, DeploymentView, EnginePort } from '@davit/engine/port';
import { admits, callerAt, refusal } from '../auth/authorize.ts';
import type { Caller } from '../auth/caller.ts';
import { startGit, type GitProcess, type GitService } from './git-process.ts';
import { Push } from './push.ts';
import type { GitRepositories } from './repositories.ts';
import { pushAllocation, type GitLimits } from './repository-files.ts';
import { pushedApplications, sharers, type PushedRow } from './store.ts';

/** The address of a repository: names or ids. */
export interface RemoteAddress {
  readonly project: string;
  readonly environment: string;
  readonly service: string;
}

export interface GitRemoteParts {
  readonly database: Database;
  readonly engine: EnginePort;
  readonly repositories: GitRepositories;
}

/**
 * Requests a deployment of a commit as the caller would through the API. Returns its id, or why it is refused. Fails if
 * the request may succeed later.
 */
export type Deploy = (applicationId: string, commitId: string) => Promise<string | { readonly refusal: string }>;

interface Answering {
  readonly caller: Caller;
  readonly deploy: Deploy;
  /** Aborted when the client has left. The deployment goes on. */
  readonly gone: AbortSignal;
}

type Requesting = Omit<Answering, 'caller'> & { readonly push: Push };

interface Opening {
  readonly service: GitService;
  readonly isListing: boolean;
  readonly protocol: string | null;
}

/** A push lasts as long as its deployment. */
const atOnce = 16;
const lookMilliseconds = 300;
const linesAtOnce = 500;

/** The repositories that this installation keeps, as remotes of git: who may read and push, and what a push starts. */
export class GitRemote {
  readonly #parts: GitRemoteParts;
  /** Pushes and reads under way, by organization. */
  readonly #pushes = new Map<string, number>();
  readonly #reads = new Map<string, number>();

  constructor(parts: GitRemoteParts) {
    this.#parts = parts;
  }

  /** The limits of a push. */
  get limits(): GitLimits {
    return this.#parts.repositories.limits;
  }

  /** Returns the application that the caller may read or push to. NOT_FOUND, FORBIDDEN, SOURCE_NOT_USABLE. */
  async find(caller: Caller, { project, environment, service }: RemoteAddress, isPush: boolean): Promise<PushedRow> {
    const { database } = this.#parts;
    const operation = isPush ? operations.editApplication : operations.getApplication;
    const found = await database.many(pushedApplications, [project, environment, service, organizationsOf(caller)]);
    const [row] = found;
    if (row === undefined) throw notThere();
    if (found.length > 1) {
      const message = 'Several organizations have an application of this name. Use the ids of project, environment and service.';
      throw new AppError({ code: 'NOT_FOUND', message });
    }
    const ids = { applicationId: row.id };
    const verdict = admits(caller, operation);
    if (verdict === 'no') throw await refusal(this.#parts, caller, operation, ids);
    if (verdict === 'ask') await callerAt(this.#parts, caller, operation, ids);
    if (ownRepositoryId(row.url) === null) {
      const message = `${row.name} is deployed from ${row.url}, so push there. To push to Davit, set git_repository.url to davit: first.`;
      throw new AppError({ code: 'SOURCE_NOT_USABLE', message });
    }
    if (isPush) await this.#checkSharers(caller, row);
    return row;
  }

  /**
   * Checks that the caller may also edit the other applications that deploy the pushed branch: their next deployment
   * takes it. FORBIDDEN.
   */
  async #checkSharers(caller: Caller, { id, url, branch }: PushedRow): Promise<void> {
    for (const other of await this.#parts.database.many(sharers, [url, branch, id])) {
      try {
        await callerAt(this.#parts, caller, operations.editApplication, { applicationId: other.id });
      } catch (cause) {
        const message = `The application ${other.name} deploys the same branch of this repository, and you may not edit it.`;
        throw new AppError({ code: 'FORBIDDEN', message, cause });
      }
    }
  }

  /** Starts git for a request. SOURCE_NOT_USABLE, TOO_MANY_PUSHES, OVERLOADED. The caller must wait for its end. */
  async open({ url, branch, organization_id }: PushedRow, { service, isListing, protocol }: Opening): Promise<GitProcess> {
    const { repositories } = this.#parts;
    const folder = await repositories.open(url, branch);
    const isPush = service === 'receive-pack';
    const allocation = isPush ? pushAllocation(repositories.limits) : null;
    const start = async (): Promise<GitProcess> => {
      try {
        return await startGit({ service, folder, isListing, protocol, branch, allocation });
      } catch (cause) {
        throw new AppError({ code: 'OVERLOADED', message: 'git cannot be started at the moment. Try again in a minute.', cause });
      }
    };
    if (isListing) return start();
    if (isPush && !(await repositories.hasSpace(folder))) {
      const message =
        'The repository has reached its limit on this server. Ask the operator to raise DAVIT_GIT_REPOSITORY_MIB, or begin a new one: set git_repository.url to another one and to davit: again.';
      throw new AppError({ code: 'SOURCE_NOT_USABLE', message });
    }
    const [counts, noun] = isPush ? [this.#pushes, 'pushes'] : [this.#reads, 'clones'];
    const running = counts.get(organization_id) ?? 0;
    if (running >= atOnce) {
      const message = `${atOnce} ${noun} of this organization are under way already. Try again when one has ended.`;
      throw new AppError({ code: 'TOO_MANY_PUSHES', message });
    }
    counts.set(organization_id, running + 1);
    try {
      const git = await start();
      void git.ended.then(() => leave(counts, organization_id));
      return git;
    } catch (error) {
      leave(counts, organization_id);
      throw error;
    }
  }

  /**
   * Records the push, deploys the pushed branch and prints the log and the result into the push. Never rejects. A push
   * whose deployment could not be requested stays recorded: `deployLostPushes` requests it later.
   */
  async answer(git: GitProcess, row: PushedRow, { caller, deploy, gone }: Answering): Promise<void> {
    const push = new Push(git, row, this.#parts);
    try {
      for await (const line of this.#lines(await push.stored(caller), row, { push, deploy, gone })) git.answer.write(`${line}\n`);
    } catch (error) {
      git.answer.write(`${isAppError(error) ? error.message : 'The deployment could not be followed. See the console.'}\n`);
    } finally {
      git.answer.end();
    }
  }

  async *#lines(commit: string | null, row: PushedRow, { push, deploy, gone }: Requesting): AsyncGenerator<string> {
    if (commit === null) {
      yield `Stored. Only the branch ${row.branch} is deployed: git push <remote> HEAD:${row.branch}`;
      return;
    }
    const id = await deploy(row.id, commit);
    await push.forget();
    if (typeof id !== 'string') {
      yield `Stored, but not deployed: ${id.refusal}`;
      return;
    }
    yield `Deploying ${row.name} at commit ${commit.slice(0, 12)}.`;
    yield* this.#follow(id, row, gone);
  }

  async *#follow(id: string, { name }: PushedRow, gone: AbortSignal): AsyncGenerator<string> {
    const { database, engine } = this.#parts;
    let after = 0;
    for (;;) {
      // The state is read first: all lines of a deployment that has ended are there.
      const view = await engine.deployment(database, id);
      let lines: readonly DeploymentLogLine[];
      do {
        lines = await engine.deploymentLines(database, id, { after, limit: linesAtOnce });
        for (const line of lines) yield* textsOf(line);
        after = lines.at(-1)?.number ?? after;
      } while (lines.length === linesAtOnce && !gone.aborted);
      if (view === null || gone.aborted) return;
      if (view.status !== 'QUEUED' && view.status !== 'RUNNING') {
        yield* resultOf(view, name);
        return;
      }
      await pause(lookMilliseconds);
    }
  }
}

function leave(counts: Map<string, number>, organizationId: string): void {
  const others = (counts.get(organizationId) ?? 1) - 1;
  if (others === 0) counts.delete(organizationId);
  else counts.set(organizationId, others);
}

function* textsOf({ message, failure }: DeploymentLogLine): Generator<string> {
  if (failure === null) {
    yield* message.split('\n');
    return;
  }
  yield `Failed: ${failure.message}`;
  for (const line of failure.evidence.lines ?? []) yield `  | ${line}`;
  yield `What to do: ${failure.hint}`;
}

function* resultOf({ status }: DeploymentView, name: string): Generator<string> {
  if (status === 'SUCCEEDED') yield `${name} is deployed.`;
  else if (status === 'FAILED') yield `${name} was not deployed: the deployment failed. The pushed commits are stored.`;
  else yield `${name} was not deployed: the deployment was canceled. The pushed commits are stored.`;
}

/** Returns the organizations that the caller may see; null: all. */
function organizationsOf({ organizationId, person }: Caller): readonly string[] | null {
  if (person !== null) return [...person.memberships.keys()];
  return organizationId === null ? null : [organizationId];
}

function notThere(): AppError {
  const message =
    'There is no such application. The address is /git/<project>/<environment>/<service>.git with names or ids; create the application with git_repository.url davit: first, or run davit up.';
  return new AppError({ code: 'NOT_FOUND', message });
}
