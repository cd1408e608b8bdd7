import { AppError } from '@davit/base';
import { DatabaseUnavailable } from '@davit/db';
import type { Needs } from '../../deps.ts';
import type { GitEventDeps } from './deps.ts';
import { toGitRepository } from '../service/index.ts';
import { Problems } from '../shared/problems.ts';
import { TryAgain } from './attempt.ts';
import { gitCaller } from './caller.ts';
import { RepositoryLook } from './changes.ts';
import type { PullRequestEvent } from './event.ts';
import { filesThatCount, takesAll } from './paths.ts';
import { asRequest, deployPreview, TooManyPreviews, type PreviewService } from './preview.ts';
import * as previews from './preview-store.ts';
import * as store from './store.ts';
import { byEnvironment, withoutVerdict, writeVerdict, type Task } from './verdict.ts';

type Request = Task<PullRequestEvent>;
type Service = store.CandidateRow;

/**
 * Creates, updates or removes the previews of environments. An environment gets a preview if a pull request concerns
 * one of its services with auto_preview. If nothing was done for the same reason for all services, the function returns
 * that reason.
 */
export async function followPullRequest(deps: GitEventDeps, request: Request): Promise<string | null> {
  const { organization_id, repository, event } = request;
  const all = (await deps.database.many(store.candidates, [organization_id, repository])).filter(({ is_preview }) => !is_preview);
  const open = await deps.database.many(previews.previewsOf, [organization_id, repository, event.number]);
  if (event.action === 'CLOSED') return closePreviews(deps, request, all, open);
  if (all.length === 0) return 'no service comes from this repository any more';
  const services = await withoutVerdict(deps.database, request.id, all);
  if (services.length === 0) return null;
  const look = new RepositoryLook(deps, all);
  const commitId = await commitOf(event, look);
  const touched: Service[] = [];
  for (const service of services) {
    const reason = await whyNot(deps, { event, look, service, commitId });
    if (reason === null) touched.push(service);
    else await writeVerdict(deps.database, request.id, service, { verdict: 'IGNORED', reason, commitId });
  }
  for (const [environmentId, group] of byEnvironment(touched)) {
    const former = open.find((preview) => preview.source_environment_id === environmentId) ?? null;
    await previewGroup(deps, request, { environmentId, services: group, former, commitId });
  }
  return null;
}

async function closePreviews(
  deps: Needs<'database'>,
  request: Request,
  services: readonly Service[],
  open: readonly previews.PreviewRow[],
): Promise<string | null> {
  if (open.length === 0) return 'there is no preview of it';
  const why = request.event.isMerged ? 'MERGED' : 'CLOSED';
  await deps.database.transaction(async (tx) => {
    for (const preview of open) {
      await tx.run(previews.closePreview, [preview.id, why]);
      const name = preview.environment_name ?? 'that was deleted';
      const reason = `the pull request was ${why.toLowerCase()}: the preview ${name} is removed with all that is in it`;
      const copied = services.filter(({ id, auto_preview }) => auto_preview && preview.services[id] !== undefined);
      for (const service of copied) {
        await writeVerdict(tx, request.id, service, { verdict: 'PREVIEW_REMOVED', reason, commitId: null });
      }
    }
  });
  return null;
}

/**
 * Returns the newest commit of the request. Some hosts abbreviate its id, so the full id is read from the branch. For a
 * request from another repository, the deployment resolves the id.
 */
async function commitOf({ source, isFork }: PullRequestEvent, look: RepositoryLook): Promise<string> {
  if (source.commit !== null && (isFork || source.commit.length === 40)) return source.commit;
  const commit = (await look.heads()).branches.get(source.branch);
  if (commit === undefined) throw new TryAgain(`the repository has no branch ${source.branch}`);
  return commit;
}

interface Considered {
  readonly event: PullRequestEvent;
  readonly look: RepositoryLook;
  readonly service: Service;
  readonly commitId: string;
}

/**
 * Returns why a service gets no preview for a pull request. Null if it gets one. Checks that need the git host come
 * last.
 */
async function whyNot(deps: Needs<never, 'previewForks'>, considered: Considered): Promise<string | null> {
  const { event, look, service } = considered;
  if (!service.auto_preview) return 'auto_preview is off';
  if (service.on_demand_preview) return 'the deployment rule of its environment has previews on demand only (on_demand_preview)';
  if (service.is_skipped) return 'it is skipped in its stage';
  if (event.isFork && !deps.config.previewForks) {
    return 'the request comes from another repository: code of others would run with the secrets of this environment (DAVIT_PREVIEW_FORKS)';
  }
  if (event.isFork && event.source.url === null) return 'the repository that the request comes from no longer exists';
  const branch = service.branch ?? (await look.heads()).defaultBranch;
  if (branch !== event.target.branch)
    return `it follows the branch ${branch ?? 'HEAD'}; the request goes to ${event.target.branch}`;
  return whyNotPaths(considered);
}

async function whyNotPaths({ event, look, service, commitId }: Considered): Promise<string | null> {
  const filter = { rootPath: service.root_path, match: service.match, exclude: service.exclude };
  // Commits of another repository may not exist in this one.
  if (takesAll(filter) || event.isFork) return null;
  const target =
    event.target.commit?.length === 40 ? event.target.commit : (await look.heads()).branches.get(event.target.branch);
  if (target === undefined) throw new TryAgain(`the repository has no branch ${event.target.branch}`);
  const { files } = await look.changes({ base: target, head: commitId, sinceParting: true });
  if (files === null || filesThatCount(files, filter).length > 0) return null;
  return `none of the ${files.length} files that the request changes affects it (root_path ${service.root_path}, deployment restrictions)`;
}

interface Group {
  readonly environmentId: string;
  readonly services: readonly Service[];
  readonly former: previews.PreviewRow | null;
  readonly commitId: string;
}

async function previewGroup(deps: GitEventDeps, request: Request, group: Group): Promise<void> {
  const { services, commitId } = group;
  const reason = whyNoPreview(group);
  const record = async (verdict: 'IGNORED' | 'FAILED', why: string): Promise<void> => {
    for (const service of services) await writeVerdict(deps.database, request.id, service, { verdict, reason: why, commitId });
  };
  if (reason !== null) return record('IGNORED', reason);
  try {
    await makeOrUpdate(deps, request, group);
  } catch (error) {
    if (!(error instanceof AppError) || error instanceof DatabaseUnavailable) throw error;
    await record(error instanceof TooManyPreviews ? 'IGNORED' : 'FAILED', error.message);
  }
}

function whyNoPreview({ former, commitId }: Group): string | null {
  if (former?.state === 'OPEN' && former.environment_id === null) {
    return 'its preview was deleted; close the request and open it again for a new one';
  }
  if (former?.state === 'OPEN' && former.last_commit_id === commitId)
    return `the preview ${former.environment_name} has this commit already`;
  return null;
}

async function makeOrUpdate(
  deps: GitEventDeps,
  request: Request,
  { environmentId, services, former, commitId }: Group,
): Promise<void> {
  const { event, organization_id: organizationId, repository } = request;
  const caller = gitCaller(organizationId, event.author);
  const name = former?.environment_name ?? nameOf(request, services[0]);
  const ids = { organizationId, environmentId, repository, request: event.number, name };
  const copies = services.map((service) => copyOf(deps, event, service, commitId));
  await asRequest(deps, caller, name, async (tx) => {
    const reason = `the preview ${name} is now at ${commitId.slice(0, 12)}`;
    const fresh: string[] = [];
    for (const service of services) {
      if (await writeVerdict(tx, request.id, service, { verdict: 'PREVIEWED', reason, commitId })) fresh.push(service.id);
    }
    if (fresh.length === 0) return;
    const { requestId } = await deployPreview(deps, tx, caller, { source: ids, services: copies, former });
    await tx.run(store.settleVerdict, [request.id, fresh, requestId]);
  });
}

/** Returns a name such as `PR 12 shop: live`. */
function nameOf({ event, repository }: Request, service: Service | undefined): string {
  const name = repository.split('/').at(-1) ?? '';
  return `PR ${event.number} ${name.slice(0, 80)}: ${(service?.environment_name ?? '').slice(0, 120)}`;
}

/**
 * Returns the copy of a service, which follows the branch of the request and is updated only by events of that request.
 * If the branch is in another repository, the copy has no git token, because the token is only for the repository for
 * which it was stored.
 */
function copyOf(
  deps: Needs<never, 'allowLocalRepositories'>,
  { source, isFork }: PullRequestEvent,
  service: Service,
  commitId: string,
): PreviewService {
  const problems = new Problems();
  const rules = { problems, allowLocal: deps.config.allowLocalRepositories };
  const url = isFork && source.url !== null ? source.url : service.url;
  const request = {
    url,
    branch: source.branch,
    root_path: service.root_path,
    provider: service.provider,
    git_token_id: isFork ? null : service.git_token_id,
  };
  const git_repository = toGitRepository(request, null, rules);
  problems.throwIfAny();
  return { id: service.id, patch: { git_repository, auto_deploy: false, auto_preview: false }, commitId };
}
