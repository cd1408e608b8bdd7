import type { EventSubTarget, EventTarget, EventType, Origin } from '@davit/contract';
import { statement } from '@davit/db';

export interface EventRow {
  readonly sequence: number;
  readonly id: string;
  readonly created_at: string;
  readonly event_type: EventType;
  readonly target_type: EventTarget;
  readonly target_id: string | null;
  readonly target_name: string;
  readonly sub_target_type: EventSubTarget | null;
  readonly project_id: string | null;
  readonly project_name: string | null;
  readonly environment_id: string | null;
  readonly environment_name: string | null;
  readonly origin: Origin;
  readonly triggered_by: string;
  readonly operation: string | null;
  readonly user_agent: string | null;
  readonly address: string | null;
  readonly before: string | null;
  readonly after: string | null;
}

const columns = `sequence, id, created_at, event_type, target_type, target_id, target_name, sub_target_type, project_id, project_name,
  environment_id, environment_name, origin, triggered_by, operation, user_agent, address, before::text as before, after::text as after`;

// Parameters: `$1` organization, `$2` days that are kept, `$3` from, `$4` to, `$5` event type, `$6` target type, `$7`
// triggered by, `$8` origin, `$9` project, `$10` environment.
const wanted = `organization_id = $1 and created_at >= clock_timestamp() - make_interval(days => $2)
  and ($3::timestamptz is null or created_at >= $3) and ($4::timestamptz is null or created_at <= $4)
  and ($5::text is null or event_type = $5) and ($6::text is null or target_type = $6)
  and ($7::text is null or triggered_by = $7) and ($8::text is null or origin = $8)
  and ($9::uuid is null or project_id = $9) and ($10::uuid is null or environment_id = $10)`;
const listed = `${wanted} and ($11::uuid is null or target_id = $11) and ($12::text is null or sub_target_type = $12)`;

/** Parameters: `$13` sequence number, events before it are returned, `$14` limit. Newest first. */
export const eventsBefore = statement<EventRow>(
  'events_before',
  `select ${columns} from audit_event where ${listed} and ($13::bigint is null or sequence < $13) order by sequence desc limit $14`,
);

/** Parameters: `$13` sequence number, events after it are returned, `$14` limit. Oldest first. */
export const eventsAfter = statement<EventRow>(
  'events_after',
  `select ${columns} from audit_event where ${listed} and sequence > $13 order by sequence limit $14`,
);

/**
 * Parameter `$11`: PROJECT, ENVIRONMENT, or null for the targets themselves. Returns the targets with their latest
 * names, ordered by name.
 */
export const eventTargets = statement<{ id: string; name: string }>(
  'event_targets',
  `select id, name from (
     select distinct on (target.id) target.id, target.name
       from audit_event,
            lateral (select case $11::text when 'PROJECT' then project_id when 'ENVIRONMENT' then environment_id else target_id end as id,
                            case $11 when 'PROJECT' then project_name when 'ENVIRONMENT' then environment_name else target_name end as name
            ) as target
      where ${wanted} and target.id is not null and target.name is not null
      order by target.id, sequence desc
   ) as latest order by lower(name), id`,
);

/** Parameter `$1`: days that every plan keeps. */
export const eventsTrim = statement(
  'events_trim',
  'delete from audit_event where created_at < clock_timestamp() - make_interval(days => $1)',
);
