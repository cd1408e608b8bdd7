import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, DateTime, enumeration, List, Named, Nullable, Uuid, Words } from '../shape.ts';
import { gitProviders } from '../shared/words.ts';

const tag = 'Git event';
const ofService = '/service/{serviceId}' as const;

export const gitEventSources = enumeration(
  'GitEventSource',
  { WEBHOOK: 'From a webhook of the git host.', POLLING: 'By polling the repository.' },
  'How Davit learned of a git event.',
);
export const gitEventKinds = enumeration(
  'GitEventKind',
  { PUSH: 'Commits were pushed.', PULL_REQUEST: 'A pull request changed.', OTHER: 'Something that Davit does not use.' },
  'What happened in a repository.',
);
export const gitEventStatuses = enumeration(
  'GitEventStatus',
  {
    WAITING: 'It is not processed yet.',
    DONE: 'It was processed.',
    REFUSED: 'Its signature was wrong; it was ignored.',
    FAILED: 'It could not be processed; `reason` says why.',
  },
  'How far a git event is.',
);
export const gitVerdicts = enumeration(
  'GitVerdict',
  {
    DEPLOYED: 'The service was deployed.',
    PREVIEWED: 'A preview was created or deployed.',
    PREVIEW_REMOVED: 'Its preview is being deleted.',
    IGNORED: 'Nothing; `reason` says why.',
    FAILED: 'It could not be done; `reason` says why.',
  },
  'What a git event did for a service.',
);
export const gitWebhookStatuses = enumeration(
  'GitWebhookState',
  {
    ACTIVE: 'The git host delivers events.',
    NOT_CONFIGURED: 'The git host has no webhook.',
    MISCONFIGURED: 'It lacks events, is disabled, or has a wrong secret.',
    UNABLE_TO_VERIFY: 'Nothing came yet, and the host cannot be asked.',
  },
  'Whether a git host delivers events.',
);

/** The outcome of a git event for one service, with its reason. */
const Verdict = Named(
  'GitEventVerdict',
  Type.Object({
    service_id: about('The `id` of the service.', Uuid),
    service_name: about('The name of the service.', Type.String()),
    environment_id: about('The environment of the service.', Uuid),
    environment_name: about('The name of the environment.', Type.String()),
    verdict: Words(gitVerdicts),
    reason: about('Why, as a sentence.', Type.String()),
    git_commit_id: about('The commit; null: none.', Nullable(Type.String())),
    deployment_request_id: about('The request for a deployment; null: none.', Nullable(Uuid)),
  }),
  'What a git event did for one service, and why.',
);

/** A push or a pull request that Davit received. */
const GitEvent = Named(
  'GitEvent',
  Type.Object({
    id: about('Identifies it; it never changes.', Uuid),
    created_at: about('When Davit learned of it.', DateTime),
    source: Words(gitEventSources),
    kind: Words(gitEventKinds),
    /** Host and path of the repository, for example `git.example.org/owner/name`. */
    repository: about('Host and path, such as `git.example.org/owner/name`.', Type.String()),
    /** A sentence that describes the event. */
    summary: about('The event as a sentence.', Type.String()),
    branch: about('The branch; null: none.', Nullable(Type.String())),
    git_commit_id: about('The newest commit; null: none.', Nullable(Type.String())),
    pull_request: about('The number of the pull request; null: none.', Nullable(Type.String())),
    /** WAITING: the event is not processed yet. REFUSED: the event failed authentication and is ignored. */
    status: Words(gitEventStatuses),
    /** The reason why nothing was done, if it is the same for all services. */
    reason: about('Why nothing was done for any service; null: see `verdicts`.', Nullable(Type.String())),
    /** How often an identical event was refused within a minute. */
    times: about('How often the same event was refused in a minute.', Type.Integer()),
    verdicts: about('What it did for each service.', Type.Array(Verdict)),
  }),
  'A push or pull request that Davit learned of.',
);

export const listServiceGitEvents = operation({
  id: 'listServiceGitEvents',
  method: 'GET',
  path: `${ofService}/gitEvent`,
  tag,
  summary: 'List the git events of a service',
  description: `
    Returns pushes and pull requests of the repository of the service, newest first, with what each did for the
    service or why it did nothing. They are kept for 30 days, at most 1,000 of each repository.
  `,
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
  summary: 'List the git events of an organization',
  description: `
    Returns the last 1,000 pushes and pull requests of all repositories, newest first, with what each did for each
    service or why it did nothing. They are kept for 30 days.
  `,
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
    missing_events: Type.Optional(about(`The events that it lacks, in the git host's words.`, Type.Array(Type.String()))),
  }),
  'Whether the git host delivers events.',
);

export const getServiceGitWebhookStatus = operation({
  id: 'getServiceGitWebhookStatus',
  method: 'GET',
  path: `${ofService}/gitWebhookStatus`,
  tag,
  summary: 'Check the git webhook of a service',
  description: `
    Returns whether pushes and pull requests arrive, by those that were received and, with a git token, by what the
    git host says now.
  `,
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
  summary: 'Set up the git webhook of a service',
  description: `
    Creates or repairs the webhook at the git host, with the git token of the service, which needs that right. A
    repetition changes nothing. Without such a token, or at a GENERIC host, it only returns the status: enter the
    webhook by hand.

    | Code | Cause | Remedy |
    |---|---|---|
    | \`NOT_SUPPORTED\` (400) | \`DAVIT_PUBLIC_URL\` is not set. | Ask the operator to set it. |
    | \`REMOTE_REFUSED\` (424) | The git host refuses the token. | Use a token with that right. |
    | \`REMOTE_UNREACHABLE\` (424) | The git host does not answer. | Try again later. |
  `,
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
  summary: 'Get the address for a git webhook',
  description: `
    Returns address, secret and events to enter at the git host. The first request makes them; later ones return the
    same unless \`rotate\` replaces the secret. All services of the organization from this repository share
    them.
  `,
  scope: 'WRITE',
  target: 'service',
  body: Named(
    'GitWebhookRequest',
    Type.Partial(
      Type.Object({
        rotate: about('Create a new secret; deliveries with the former one are refused.', Type.Boolean({ default: false })),
      }),
    ),
    'Whether to create a new secret.',
  ),
  bodyRequired: false,
  status: 200,
  response: Named(
    'GitWebhook',
    Type.Object({
      /**
       * Host and path of the repository. All services of the organization that are built from this repository share one
       * webhook.
       */
      repository: about('Host and path; its services share the webhook.', Type.String()),
      provider: Words(gitProviders),
      url: about('The address to enter.', Type.String()),
      secret: about('The secret to enter.', Type.String()),
      content_type: about('The content type to choose.', Type.String()),
      /** The events to select at the git host, in the git host's terms. */
      events: about(`The events to choose, in the git host's words.`, Type.Array(Type.String())),
    }),
    'What to enter at the git host.',
  ),
  errors: [400],
});
