import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Nullable, Uuid, Words } from '../shape.ts';
import { gitProviders } from '../shared/words.ts';

const tag = 'Git event';
const ofService = '/service/{serviceId}' as const;

export const gitEventSources = ['WEBHOOK', 'POLLING'] as const;
export const gitEventKinds = ['PUSH', 'PULL_REQUEST', 'OTHER'] as const;
export const gitEventStatuses = ['WAITING', 'DONE', 'REFUSED', 'FAILED'] as const;
export const gitVerdicts = ['DEPLOYED', 'PREVIEWED', 'PREVIEW_REMOVED', 'IGNORED', 'FAILED'] as const;
export const gitWebhookStatuses = ['ACTIVE', 'NOT_CONFIGURED', 'MISCONFIGURED', 'UNABLE_TO_VERIFY'] as const;

/** What was done for one service, and why not. */
const Verdict = Type.Object({
  service_id: Uuid,
  service_name: Type.String(),
  environment_id: Uuid,
  environment_name: Type.String(),
  verdict: Words(gitVerdicts),
  reason: Type.String(),
  git_commit_id: Nullable(Type.String()),
  deployment_request_id: Nullable(Uuid),
});

/** A push or a pull request that was heard of. */
const GitEvent = Type.Object({
  id: Uuid,
  created_at: DateTime,
  source: Words(gitEventSources),
  kind: Words(gitEventKinds),
  /** As `git.example.org/owner/name`. */
  repository: Type.String(),
  /** What happened, in a sentence. */
  summary: Type.String(),
  branch: Nullable(Type.String()),
  git_commit_id: Nullable(Type.String()),
  pull_request: Nullable(Type.String()),
  /** WAITING: it is still to be worked on; REFUSED: nothing of it was believed. */
  status: Words(gitEventStatuses),
  /** Why nothing was done, where that is the same for all services. */
  reason: Nullable(Type.String()),
  /** How often the same was refused within a minute. */
  times: Type.Integer(),
  verdicts: Type.Array(Verdict),
});

export const listServiceGitEvents = operation({
  id: 'listServiceGitEvents',
  method: 'GET',
  path: `${ofService}/gitEvent`,
  tag,
  summary:
    'List pushes and pull requests of the repository of a service, what was done for the service, and why not; newest first',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: List(GitEvent),
  errors: [],
});

export const listOrganizationGitEvents = operation({
  id: 'listOrganizationGitEvents',
  method: 'GET',
  path: '/organization/{organizationId}/gitEvent',
  tag,
  summary:
    'List pushes and pull requests of all repositories of an organization, and what was done for each service; newest first',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(GitEvent),
  errors: [],
});

const WebhookStatus = Type.Object({
  status: Words(gitWebhookStatuses),
  provider: Words(gitProviders),
  /** In the words of the git host. */
  missing_events: Type.Optional(Type.Array(Type.String())),
});

export const getServiceGitWebhookStatus = operation({
  id: 'getServiceGitWebhookStatus',
  method: 'GET',
  path: `${ofService}/gitWebhookStatus`,
  tag,
  summary: 'Tell whether the git host of a service tells of pushes and pull requests, by what came in and what the host says',
  scope: 'READ',
  target: 'service',
  status: 200,
  response: WebhookStatus,
  errors: [400],
});

export const syncServiceGitWebhook = operation({
  id: 'syncServiceGitWebhook',
  method: 'POST',
  path: `${ofService}/gitWebhook/sync`,
  tag,
  summary: 'Make the webhook at the git host of a service, or put it right, with the git token of the service',
  scope: 'WRITE',
  target: 'service',
  status: 200,
  response: WebhookStatus,
  errors: [400, 424],
});

export const createServiceGitWebhook = operation({
  id: 'createServiceGitWebhook',
  method: 'POST',
  path: `${ofService}/gitWebhook`,
  tag,
  summary: 'Show address and secret to enter at the git host of a service; `rotate` makes a new secret',
  scope: 'WRITE',
  target: 'service',
  body: Type.Partial(Type.Object({ rotate: Type.Boolean({ default: false }) })),
  bodyRequired: false,
  status: 200,
  response: Type.Object({
    /** One for all services of the organization that come from the repository. */
    repository: Type.String(),
    provider: Words(gitProviders),
    url: Type.String(),
    secret: Type.String(),
    content_type: Type.String(),
    /** What to choose at the git host, in its own words. */
    events: Type.Array(Type.String()),
  }),
  errors: [400],
});
