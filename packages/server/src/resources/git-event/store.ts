import type { GitProvider, ServiceType } from '@davit/contract';
import { gitEventChannel, statement } from '@davit/db';
import type { GitEvent } from './event.ts';

const keyOf = (service: string): string =>
  `git_repository_key(${service}.spec #>> '{git_repository,url}', ${service}.spec #>> '{git_repository,provider}')`;

export interface RepositoryRow {
  readonly organization_id: string;
  /** Null: the service has no repository. */
  readonly repository: string | null;
  readonly provider: GitProvider | null;
  readonly url: string | null;
  readonly branch: string | null;
  readonly git_token_id: string | null;
  readonly driver: string;
}

/** Parameters: service, organization of the caller. */
export const repositoryOfService = statement<RepositoryRow>(
  'git_repository_of_service',
  `select service.organization_id, ${keyOf('service')} as repository, service.spec #>> '{git_repository,provider}' as provider,
          service.spec #>> '{git_repository,url}' as url, service.spec #>> '{git_repository,branch}' as branch,
          service.spec #>> '{git_repository,git_token_id}' as git_token_id, service.driver
     from service where service.id = $1 and ($2::uuid is null or service.organization_id = $2)`,
);

export interface WebhookRow {
  readonly id: string;
  readonly organization_id: string;
  readonly repository: string;
  readonly sealed: Buffer;
}

/** Parameters: id, organization, repository, secret. Returns no row if another request was faster. */
export const createWebhook = statement<WebhookRow>(
  'git_webhook_create',
  `insert into git_webhook (id, organization_id, repository, name, sealed) values ($1, $2, $3, $3, $4)
   on conflict (organization_id, repository) do nothing returning id, organization_id, repository, sealed`,
);

export const findWebhook = statement<WebhookRow>(
  'git_webhook_find',
  'select id, organization_id, repository, sealed from git_webhook where organization_id = $1 and repository = $2',
);

export const readWebhook = statement<WebhookRow>(
  'git_webhook_read',
  'select id, organization_id, repository, sealed from git_webhook where id = $1',
);

export const rotateWebhook = statement(
  'git_webhook_rotate',
  'update git_webhook set sealed = $2, updated_at = clock_timestamp() where id = $1',
);

/**
 * Parameters: organization, repository, source, name of the delivery, kind, event, status, reason. Returns no row if
 * the event is already recorded. A waiting event wakes the workers of all processes when the transaction ends.
 */
export const recordEvent = statement<{ id: string }>(
  'git_event_record',
  `with made as (
     insert into git_event (organization_id, repository, source, delivery, kind, event, status, reason, due_at)
     values ($1, $2, $3, $4, $5, $6::jsonb, $7, $8, case when $7 = 'WAITING' then clock_timestamp() end)
     on conflict (organization_id, repository, delivery) do nothing returning id, due_at)
   select id, case when due_at is not null then pg_notify('${gitEventChannel}', '') end from made`,
);

/**
 * Parameters: organization, repository, reason. Refusals within the same minute are counted in one row, so that nobody
 * can fill the ledger.
 */
export const recordRefusal = statement(
  'git_event_refuse',
  `insert into git_event (organization_id, repository, source, delivery, kind, event, status, reason)
   values ($1, $2, 'WEBHOOK', 'refused ' || date_trunc('minute', clock_timestamp())::text || ' ' || $3, 'OTHER',
           '{"kind": "OTHER", "summary": "Something was sent to the address of the webhook.", "reason": ""}', 'REFUSED', $3)
   on conflict (organization_id, repository, delivery) do update set times = git_event.times + 1`,
);

/** Parameters: organization, repository, refusal or null. */
export const noteDelivery = statement(
  'git_repository_note',
  `insert into git_repository (organization_id, repository, delivered_at, refused_at, refusal)
   values ($1, $2, case when $3::text is null then clock_timestamp() end, case when $3 is not null then clock_timestamp() end, $3)
   on conflict (organization_id, repository) do update
      set delivered_at = coalesce(excluded.delivered_at, git_repository.delivered_at),
          refused_at = coalesce(excluded.refused_at, git_repository.refused_at),
          refusal = coalesce(excluded.refusal, git_repository.refusal)`,
);

/** Parameters: organization, repository. */
export const readRepository = statement<{ is_delivered: boolean; is_refused: boolean }>(
  'git_repository_read',
  `select delivered_at is not null as is_delivered,
          refused_at is not null and (delivered_at is null or refused_at > delivered_at) as is_refused
     from git_repository where organization_id = $1 and repository = $2`,
);

export interface EventRow {
  readonly id: string;
  readonly organization_id: string;
  readonly repository: string;
  readonly event: GitEvent;
  readonly attempts: number;
  readonly created_at: string;
}

/**
 * Takes the event that has been due longest, and leases it for a minute. The events of one repository are taken one at
 * a time and in their order, so that an older commit is never deployed after a newer one.
 */
export const takeEvent = statement<EventRow>(
  'git_event_take',
  `update git_event set attempts = attempts + 1, due_at = clock_timestamp() + interval '1 minute'
    where id = (
      select due.id from git_event as due
       where due.due_at <= clock_timestamp()
         and not exists (select 1 from git_event as earlier
                          where earlier.organization_id = due.organization_id and earlier.repository = due.repository
                            and earlier.due_at is not null and earlier.sequence < due.sequence)
       order by due.due_at, due.sequence limit 1 for update skip locked)
   returning id, organization_id, repository, event, attempts, created_at`,
);

/** Extends the lease of the process that works on the event by another minute. */
export const keepEvent = statement(
  'git_event_keep',
  `update git_event set due_at = clock_timestamp() + interval '1 minute' where id = $1 and attempts = $2 and due_at is not null`,
);

/** Parameter `$4`: seconds until the next attempt. Null: no further attempt. */
export const endEvent = statement(
  'git_event_end',
  `update git_event set status = $2, reason = $3, due_at = clock_timestamp() + make_interval(secs => $4) where id = $1`,
);

/**
 * Returns SQL that is true if a newer release than this one has been deployed before, which means that the service was
 * rolled back to this release.
 */
function isOlder(serviceId: string, releaseId: string): string {
  return `exists (select 1 from release as older
                    join deployment_service as one on one.service_id = ${serviceId} and one.phase = 'SUCCEEDED'
                    join deployment on deployment.id = one.deployment_id and deployment.action = 'DEPLOY'
                    join release as newer on newer.id = one.release_id and newer.created_at > older.created_at
                   where older.id = ${releaseId})`;
}

/**
 * Parameters: service, release. Returns the branch whose next push would replace the release. Null means the default
 * branch. Returns no row if no push would replace the release.
 */
export const replacingBranch = statement<{ branch: string | null }>(
  'git_event_replacing_branch',
  `select service.spec #>> '{git_repository,branch}' as branch from service
    where service.id = $1 and service.spec #>> '{git_repository,url}' is not null
      and coalesce((service.spec ->> 'auto_deploy')::boolean, false) and ${isOlder('service.id', '$2::uuid')}`,
);

export interface CandidateRow {
  readonly id: string;
  readonly type: ServiceType;
  readonly name: string;
  readonly environment_id: string;
  readonly environment_name: string;
  readonly is_preview: boolean;
  readonly on_demand_preview: boolean;
  readonly url: string;
  readonly provider: GitProvider;
  readonly branch: string | null;
  readonly root_path: string;
  readonly git_token_id: string | null;
  readonly driver: string;
  readonly auto_deploy: boolean;
  readonly auto_preview: boolean;
  readonly terraform_action: 'DEFAULT' | 'PLAN' | 'NOOP' | null;
  readonly is_skipped: boolean;
  readonly match: readonly string[];
  readonly exclude: readonly string[];
  readonly deployed_commit_id: string | null;
  /** Whether the running release is older than one that was deployed before. */
  readonly is_rolled_back: boolean;
  /** The commit of the latest automatic deployment request, whether or not it was deployed. */
  readonly asked_commit_id: string | null;
}

/** Parameters: organization, repository. Returns the services that a push or pull request may concern. */
export const candidates = statement<CandidateRow>(
  'git_event_candidates',
  `select service.id, service.type, service.name, service.environment_id, environment.name as environment_name,
          exists (select 1 from git_preview where git_preview.environment_id = environment.id) as is_preview,
          coalesce(rule.on_demand_preview, false) as on_demand_preview,
          service.spec #>> '{git_repository,url}' as url, coalesce(service.spec #>> '{git_repository,provider}', 'GENERIC') as provider,
          service.spec #>> '{git_repository,branch}' as branch,
          coalesce(service.spec #>> '{git_repository,root_path}', '/') as root_path,
          service.spec #>> '{git_repository,git_token_id}' as git_token_id, service.driver,
          coalesce((service.spec #>> '{auto_deploy_config,auto_deploy}')::boolean, (service.spec ->> 'auto_deploy')::boolean, false) as auto_deploy,
          coalesce((service.spec ->> 'auto_preview')::boolean, false) as auto_preview,
          service.spec #>> '{auto_deploy_config,terraform_action}' as terraform_action, service.is_skipped,
          array(select value from deployment_restriction as one where one.service_id = service.id and one.mode = 'MATCH') as match,
          array(select value from deployment_restriction as one where one.service_id = service.id and one.mode = 'EXCLUDE') as exclude,
          case when runtime.desired <> 'NONE' then runtime.commit ->> 'id' end as deployed_commit_id,
          ${isOlder('service.id', 'runtime.release_id')} as is_rolled_back,
          (select verdict.commit_id from git_verdict as verdict
            where verdict.service_id = service.id and verdict.verdict = 'DEPLOYED' order by verdict.created_at desc limit 1) as asked_commit_id
     from service
     join environment on environment.id = service.environment_id
     left join environment_rule as rule on rule.environment_id = environment.id
     left join service_runtime as runtime on runtime.service_id = service.id
    where service.organization_id = $1 and ${keyOf('service')} = $2 and service.spec #>> '{git_repository,url}' is not null
    order by environment.created_at, environment.id, service.created_at, service.id`,
);

/**
 * Parameters: event, service, its name, environment, its name, verdict, reason, commit, request. Returns no row if the
 * service already has a verdict for the event.
 */
export const recordVerdict = statement<{ service_id: string }>(
  'git_verdict_record',
  `insert into git_verdict (event_id, service_id, service_name, environment_id, environment_name, verdict, reason, commit_id, deployment_request_id)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict (event_id, service_id) do nothing returning service_id`,
);

export const settleVerdict = statement(
  'git_verdict_settle',
  'update git_verdict set deployment_request_id = $3 where event_id = $1 and service_id = any ($2::uuid[])',
);

export const verdictsOf = statement<{ service_id: string }>(
  'git_verdict_services',
  'select service_id from git_verdict where event_id = $1',
);

export interface LedgerRow {
  readonly id: string;
  readonly created_at: string;
  readonly source: 'WEBHOOK' | 'POLLING';
  readonly kind: GitEvent['kind'];
  readonly repository: string;
  readonly event: GitEvent;
  readonly status: 'WAITING' | 'DONE' | 'REFUSED' | 'FAILED';
  readonly reason: string | null;
  readonly times: number;
  readonly verdicts: readonly VerdictRow[];
}

export interface VerdictRow {
  readonly service_id: string;
  readonly service_name: string;
  readonly environment_id: string;
  readonly environment_name: string;
  readonly verdict: 'DEPLOYED' | 'PREVIEWED' | 'PREVIEW_REMOVED' | 'IGNORED' | 'FAILED';
  readonly reason: string;
  readonly commit_id: string | null;
  readonly deployment_request_id: string | null;
}

const ledger = (
  service: string,
): string => `select event.id, event.created_at, event.source, event.kind, event.repository, event.event,
    event.status, event.reason, event.times,
    coalesce((select jsonb_agg(jsonb_build_object('service_id', one.service_id, 'service_name', one.service_name,
        'environment_id', one.environment_id, 'environment_name', one.environment_name, 'verdict', one.verdict, 'reason', one.reason,
        'commit_id', one.commit_id, 'deployment_request_id', one.deployment_request_id) order by one.created_at, one.service_id)
      from git_verdict as one where one.event_id = event.id and (${service}::uuid is null or one.service_id = ${service})), '[]') as verdicts
  from git_event as event`;

/** Parameters: organization, repository, service. */
export const ledgerOfService = statement<LedgerRow>(
  'git_ledger_of_service',
  `${ledger('$3')} where event.organization_id = $1 and event.repository = $2 order by event.sequence desc limit 1000`,
);

/** Parameters: organization, null. */
export const ledgerOfOrganization = statement<LedgerRow>(
  'git_ledger_of_organization',
  `${ledger('$2')} where event.organization_id = $1 order by event.sequence desc limit 1000`,
);

/** Parameters: days, maximum number of events per repository. Events that still wait are kept. */
export const trimEvents = statement(
  'git_events_trim',
  `delete from git_event where due_at is null and (created_at < clock_timestamp() - make_interval(days => $1) or id in (
     select id from (select id, row_number() over (partition by organization_id, repository order by sequence desc) as place
                       from git_event) as placed where place > $2))`,
);

export type SourceRow = Pick<RepositoryRow, 'url' | 'provider' | 'branch' | 'git_token_id' | 'driver'>;

const sourceMembers = (
  path: string,
): string => `service.spec #>> '{${path},url}' as url, service.spec #>> '{${path},provider}' as provider,
  service.spec #>> '{${path},branch}' as branch, service.spec #>> '{${path},git_token_id}' as git_token_id, service.driver`;
const ofType = 'from service where id = $1 and type = $2 and ($3::uuid is null or organization_id = $3)';

/**
 * Parameters: service, type, organization of the caller, whether to use the repository of its values. `url` is null if
 * the service has no repository.
 */
export const sourceOfService = statement<SourceRow>(
  'git_source_of_service',
  `select ${sourceMembers('git_repository')} ${ofType} and not $4::boolean
   union all
   select ${sourceMembers('values_override,file,git,git_repository')} ${ofType} and $4`,
);

export interface ImageServiceRow {
  readonly id: string;
  readonly type: ServiceType;
  readonly name: string;
  readonly environment_id: string;
  readonly environment_name: string;
  readonly is_preview: boolean;
  readonly is_skipped: boolean;
  readonly auto_deploy: boolean;
  readonly auto_preview: boolean;
}

/** Parameters: organization, type, name of the image with or without its container registry. */
export const imageServices = statement<ImageServiceRow>(
  'git_image_services',
  `select service.id, service.type, service.name, service.environment_id, environment.name as environment_name,
          exists (select 1 from git_preview where git_preview.environment_id = environment.id) as is_preview, service.is_skipped,
          coalesce((service.spec ->> 'auto_deploy')::boolean, false) as auto_deploy,
          coalesce((service.spec ->> 'auto_preview')::boolean, false) as auto_preview
     from service
     join environment on environment.id = service.environment_id
     join container_registry as registry on registry.id = (service.spec ->> 'registry_id')::uuid
    where service.organization_id = $1 and registry.organization_id = $1 and service.type = $2
      and $3 in (service.spec ->> 'image_name',
                 concat(trim(both '/' from regexp_replace(registry.url, '^https?://', '')), '/', service.spec ->> 'image_name'))
    order by environment.created_at, environment.id, service.created_at, service.id`,
);
