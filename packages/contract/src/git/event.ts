import Type from 'typebox';
import { operation } from '../operation.ts';
import { DateTime, List, Nullable, Uuid, Words, Named } from '../shape.ts';
import { gitProviders } from '../shared/words.ts';

const tag = 'Git event';
const ofService = '/service/{serviceId}' as const;

export const gitEventSources = ['WEBHOOK', 'POLLING'] as const;
export const gitEventKinds = ['PUSH', 'PULL_REQUEST', 'OTHER'] as const;
export const gitEventStatuses = ['WAITING', 'DONE', 'REFUSED', 'FAILED'] as const;
export const gitVerdicts = ['DEPLOYED', 'PREVIEWED', 'PREVIEW_REMOVED', 'IGNORED', 'FAILED'] as const;
export const gitWebhookStatuses = ['ACTIVE', 'NOT_CONFIGURED', 'MISCONFIGURED', 'UNABLE_TO_VERIFY'] as const;

/** The outcome of a git event for one service, with its reason. */
const Verdict = Named(
  'GitEventVerdict',
  Type.Object({
    service_id: Uuid,
    service_name: Type.String(),
    environment_id: Uuid,
    environment_name: Type.String(),
    verdict: Words(gitVerdicts),
    reason: Type.String(),
    git_commit_id: Nullable(Type.String()),
    deployment_request_id: Nullable(Uuid),
  }),
);

/** A push or a pull request that Davit received. */
const GitEvent = Named(
  'GitEvent',
  Type.Object({
    id: Uuid,
    created_at: DateTime,
    source: Words(gitEventSources),
    kind: Words(gitEventKinds),
    /** Host and path of the repository, for example `git.example.org/owner/name`. */
    repository: Type.String(),
    /** A sentence that describes the event. */
    summary: Type.String(),
    branch: Nullable(Type.String()),
    git_commit_id: Nullable(Type.String()),
    pull_request: Nullable(Type.String()),
    /** WAITING: the event is not processed yet. REFUSED: the event failed authentication and is ignored. */
    status: Words(gitEventStatuses),
    /** The reason why nothing was done, if it is the same for all services. */
    reason: Nullable(Type.String()),
    /** How often an identical event was refused within a minute. */
    times: Type.Integer(),
    verdicts: Type.Array(Verdict),
  }),
);

export const listServiceGitEvents = operation({
  id: 'listServiceGitEvents',
  method: 'GET',
  path: `${ofService}/gitEvent`,
  tag,
  summary:
    'List pushes and pull requests of the repository of a service, with what each did for the service or why it did nothing; newest first',
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
    'List pushes and pull requests of all repositories of an organization, with what each did for each service; newest first',
  scope: 'READ',
  target: 'organization',
  status: 200,
  response: List(GitEvent),
  errors: [],
});

const WebhookStatus = Named(
  'GitWebhookStatus',
  Type.Object({
    status: Words(gitWebhookStatuses),
    provider: Words(gitProviders),
    /** The events that the webhook lacks, in the git host's terms. */
    missing_events: Type.Optional(Type.Array(Type.String())),
  }),
);

export const getServiceGitWebhookStatus = operation({
  id: 'getServiceGitWebhookStatus',
  method: 'GET',
  path: `${ofService}/gitWebhookStatus`,
  tag,
  summary:
    'Check whether the git host of a service delivers pushes and pull requests, by received events and the host’s own records',
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
  summary: 'Create or repair the webhook at the git host of a service, with the git token of the service',
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
  summary: 'Show the address and secret to enter at the git host of a service; `rotate` creates a new secret',
  scope: 'WRITE',
  target: 'service',
  body: Named('GitWebhookRequest', Type.Partial(Type.Object({ rotate: Type.Boolean({ default: false }) }))),
  bodyRequired: false,
  status: 200,
  response: Named(
    'GitWebhook',
    Type.Object({
      /**
       * Host and path of the repository. All services of the organization that are built from this repository share one
       * webhook.
       */
      repository: Type.String(),
      provider: Words(gitProviders),
      url: Type.String(),
      secret: Type.String(),
      content_type: Type.String(),
      /** The events to select at the git host, in the git host's terms. */
      events: Type.Array(Type.String()),
    }),
  ),
  errors: [400],
});
