import type { EnvironmentMode, WebhookEvent, WebhookKind } from '@davit/contract';
import { statement } from '@davit/db';

export interface WebhookRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly kind: WebhookKind;
  readonly target_url: string;
  readonly target_secret_set: boolean;
  readonly description: string;
  readonly enabled: boolean;
  readonly events: WebhookEvent[];
  readonly project_names_filter: string[];
  readonly environment_types_filter: EnvironmentMode[];
}

const columns = `id, created_at, updated_at, kind, target_url, sealed is not null as target_secret_set, description, enabled, events,
  project_names_filter, environment_types_filter`;
const visible = 'organization_id = $1 and ($2::uuid is null or organization_id = $2)';

export const webhookList = statement<WebhookRow>(
  'webhook_list',
  `select ${columns} from webhook where ${visible} order by created_at, id`,
);

export const webhookRead = statement<WebhookRow>('webhook_read', `select ${columns} from webhook where ${visible} and id = $3`);

export const webhookCreate = statement<WebhookRow>(
  'webhook_create',
  `insert into webhook (id, organization_id, kind, target_url, events, sealed, description, enabled, project_names_filter,
                        environment_types_filter, base_path)
   select $3, organization.id, $4, $5, $6::text[], $7, $8, $9, $10::text[], $11::text[], $12 from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning ${columns}`,
);

/**
 * $7: whether the secret changes to $8. If not, a webhook with a secret keeps its target. $9 to $12: null keeps the
 * former value. $13: base path of the request, which counts if the target changes. Disabling a webhook drops its
 * pending deliveries.
 */
export const webhookEdit = statement<WebhookRow>(
  'webhook_edit',
  `with edited as (
     update webhook
        set kind = $4, target_url = $5, events = $6::text[], sealed = case when $7 then $8::bytea else sealed end,
            description = coalesce($9, description), enabled = coalesce($10, enabled),
            project_names_filter = coalesce($11::text[], project_names_filter),
            environment_types_filter = coalesce($12::text[], environment_types_filter),
            base_path = case when target_url = $5 then base_path else $13 end
      where ${visible} and id = $3 and ($7 or sealed is null or target_url = $5)
     returning *
   ), dropped as (
     update webhook_delivery set due_at = null from edited
      where webhook_id = edited.id and not edited.enabled and due_at is not null
   )
   select ${columns} from edited`,
);

export const webhookDelete = statement('webhook_delete', `delete from webhook where ${visible} and id = $3`);

export interface AttemptRow {
  readonly id: string;
  readonly created_at: string;
  readonly kind: WebhookKind;
  readonly matched_event: WebhookEvent;
  readonly target_url_used: string;
  readonly request: Record<string, unknown>;
  readonly target_response_status_code: number;
  readonly target_response_body: string | null;
}

/** Returns the kept attempts, at most 10,000. A receiver that never responds gets ten for each event. */
export const attemptList = statement<AttemptRow>(
  'webhook_attempt_list',
  `select id, created_at, kind, event as matched_event, target_url as target_url_used, request,
          status_code as target_response_status_code, response_body as target_response_body
     from webhook_attempt where webhook_id = $1 order by sequence desc limit 10000`,
);

const services = (type: string): string => `coalesce((
  select jsonb_agg(jsonb_build_object('id', service_id, 'name', service_name, 'status', phase) order by stage_position, service_name)
    from deployment_service where deployment_id = deployment.id and service_type = '${type}'), '[]')`;

/**
 * Parameters: deployment, event, current state, wanted state. Adds a delivery to the outbox for each matching webhook,
 * in the transaction that changes the deployment. A pattern of project names may contain asterisks anywhere.
 */
export const deliveriesAdd = statement(
  'webhook_deliveries_add',
  `insert into webhook_delivery (webhook_id, event, payload)
   select webhook.id, $2::text, jsonb_build_object(
            'created_at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
            'event_type', $2::text, 'payload_type', 'DEPLOYMENT', 'payload_id', deployment.id,
            'payload', jsonb_build_object(
              'id', deployment.id, 'deployment_id', deployment.id, 'action', deployment.action,
              'current_status', $3::text, 'desired_status', $4::text,
              'triggered_by', deployment.triggered_by, 'origin', deployment.origin,
              'organization', jsonb_build_object('id', organization.id, 'name', organization.name),
              'project', jsonb_build_object('id', project.id, 'name', project.name),
              'environment', jsonb_build_object('id', environment.id, 'name', environment.name, 'mode', environment.mode,
                'cluster_id', cluster.id, 'cluster_name', cluster.name),
              'applications', ${services('APPLICATION')}, 'containers', ${services('CONTAINER')},
              'databases', ${services('DATABASE')}, 'jobs', ${services('JOB')}, 'helms', ${services('HELM')},
              'terraforms', ${services('TERRAFORM')}, 'logs', '[]'::jsonb
            ) || coalesce((
              select jsonb_build_object('application_id', min(service_id::text)) from deployment_service
               where deployment_id = deployment.id and service_type = 'APPLICATION' having count(*) = 1), '{}'))
     from deployment
     join organization on organization.id = deployment.organization_id
     join project on project.id = deployment.project_id
     join environment on environment.id = deployment.environment_id
     join cluster on cluster.id = deployment.cluster_id
     join webhook on webhook.organization_id = deployment.organization_id
    where deployment.id = $1 and webhook.enabled and $2 = any (webhook.events)
      and (webhook.environment_types_filter = '{}' or environment.mode = any (webhook.environment_types_filter))
      and (webhook.project_names_filter = '{}' or exists (
        select 1 from unnest(webhook.project_names_filter) as filter (pattern)
         where lower(project.name) like
               replace(replace(replace(replace(lower(filter.pattern), '\\', '\\\\'), '%', '\\%'), '_', '\\_'), '*', '%')))`,
);

export interface DueRow {
  readonly id: string;
  readonly webhook_id: string;
  readonly event: WebhookEvent;
  readonly payload: Record<string, unknown>;
  /** Number of attempts, including the one that begins now. */
  readonly attempts: number;
  readonly kind: WebhookKind;
  readonly target_url: string;
  readonly sealed: Buffer | null;
  /** Base path of the vocabulary whose words the receiver uses; null: the contract's words. */
  readonly base_path: string | null;
}

/** Minutes for which a failing delivery blocks later ones of its webhook, so that they arrive in order. */
const holdMinutes = 90;

/**
 * Condition for a delivery that can run now: it is due, no other delivery of its webhook is running, and no earlier one
 * blocks it.
 */
const deliverable = `due.due_at <= clock_timestamp() and not exists (
  select 1 from webhook_delivery as other
   where other.webhook_id = due.webhook_id and other.due_at is not null
     and (other.is_taken and other.due_at > clock_timestamp()
       or other.sequence < due.sequence and not other.is_refused
         and other.created_at > clock_timestamp() - interval '${holdMinutes} minutes'))`;

/** Returns the webhooks with deliveries that can run, the longest due first. */
export const webhooksDue = statement<{ webhook_id: string }>(
  'webhooks_due',
  `select due.webhook_id from webhook_delivery as due where ${deliverable}
    group by due.webhook_id order by min(due.due_at) limit 20`,
);

/**
 * Tries to lock the webhook, among all processes, until the transaction ends. Returns whether the lock was acquired.
 */
export const webhookLock = statement<{ taken: boolean }>(
  'webhook_lock',
  `select pg_try_advisory_xact_lock(hashtextextended('davit webhook ' || $1::text, 0)) as taken`,
);

/**
 * Takes the next delivery of a webhook for longer than an attempt can last. If the process dies, the delivery is due
 * again after that time. Must run in the transaction that holds the webhook's lock, and after the statement that
 * acquires it: no other process then takes a delivery that this statement sees.
 */
export const deliveryTake = statement<DueRow>(
  'webhook_delivery_take',
  `with next as (
     select due.id from webhook_delivery as due where due.webhook_id = $1 and ${deliverable} order by due.sequence limit 1
   )
   update webhook_delivery as delivery
      set attempts = attempts + 1, is_taken = true, due_at = clock_timestamp() + interval '1 minute'
     from next, webhook where delivery.id = next.id and webhook.id = delivery.webhook_id
   returning delivery.id, delivery.webhook_id, delivery.event, delivery.payload, delivery.attempts, webhook.kind, webhook.target_url,
             webhook.sealed, webhook.base_path`,
);

/**
 * Parameters: delivery, kind, URL, request, status, response, seconds until the next attempt or null for none, number
 * of the attempt, whether the receiver refused. The attempt is always stored. An attempt that lasted so long that the
 * delivery was taken again does not change the delivery.
 */
export const deliveryEnd = statement(
  'webhook_delivery_end',
  `with ended as (
     update webhook_delivery
        set is_taken = false, is_refused = $9, due_at = clock_timestamp() + make_interval(secs => $7)
      where id = $1 and attempts = $8
   )
   insert into webhook_attempt (webhook_id, delivery_id, kind, event, target_url, request, status_code, response_body)
   select webhook_id, id, $2, event, $3, $4::jsonb, $5, $6 from webhook_delivery where id = $1`,
);

/**
 * Parameters: attempt, webhook. Makes the attempt's delivery due again and resets its number of attempts. A running
 * delivery is unchanged. Returns no row if there is no such attempt.
 */
export const deliveryRepeat = statement<{ enabled: boolean }>(
  'webhook_delivery_repeat',
  `with asked as (
     select attempt.delivery_id, webhook.enabled from webhook_attempt as attempt join webhook on webhook.id = attempt.webhook_id
      where attempt.id = $1 and attempt.webhook_id = $2
   ), repeated as (
     update webhook_delivery as delivery
        set due_at = clock_timestamp(), attempts = 0, is_taken = false, is_refused = false
       from asked
      where delivery.id = asked.delivery_id and asked.enabled
        and not (delivery.is_taken and delivery.due_at > clock_timestamp())
   )
   select enabled from asked`,
);

/** $1: days. Pending deliveries stay. */
export const deliveriesTrim = statement(
  'webhook_deliveries_trim',
  `delete from webhook_delivery where due_at is null and created_at < clock_timestamp() - make_interval(days => $1)`,
);
