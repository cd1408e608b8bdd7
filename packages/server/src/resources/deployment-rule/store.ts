import type { EnvironmentMode, Weekday } from '@davit/contract';
import { statement } from '@davit/db';

interface WindowRow {
  readonly auto_stop: boolean;
  readonly timezone: string;
  readonly start_time: string;
  readonly stop_time: string;
  readonly weekdays: readonly Weekday[];
}

export interface EnvironmentRuleRow extends WindowRow {
  readonly environment_id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly on_demand_preview: boolean;
  readonly auto_preview: boolean;
}

/**
 * Parameters: environment, organization of the caller. For an environment without a rule, the result is the default
 * rule: eight to six on working days, no auto_stop.
 */
export const readEnvironmentRule = statement<EnvironmentRuleRow>(
  'environment_rule_read',
  `select environment.id as environment_id, coalesce(rule.created_at, environment.created_at) as created_at,
          coalesce(rule.updated_at, environment.created_at) as updated_at, environment.auto_preview,
          coalesce(rule.on_demand_preview, false) as on_demand_preview, coalesce(rule.auto_stop, false) as auto_stop,
          coalesce(rule.timezone, 'UTC') as timezone,
          coalesce(rule.start_time, '1970-01-01T08:00:00Z') as start_time,
          coalesce(rule.stop_time, '1970-01-01T18:00:00Z') as stop_time,
          coalesce(rule.weekdays, '{MONDAY,TUESDAY,WEDNESDAY,THURSDAY,FRIDAY}') as weekdays
     from environment left join environment_rule as rule on rule.environment_id = environment.id
    where environment.id = $1 and ($2::uuid is null or environment.organization_id = $2)`,
);

/** Stores the default rule for an environment without a rule, so that a version exists that requests can expect. */
export const beginEnvironmentRule = statement(
  'environment_rule_begin',
  `insert into environment_rule (environment_id, timezone, start_time, stop_time, weekdays, created_at, updated_at)
   select id, 'UTC', '1970-01-01T08:00:00Z', '1970-01-01T18:00:00Z', '{MONDAY,TUESDAY,WEDNESDAY,THURSDAY,FRIDAY}', created_at, created_at
     from environment where id = $1
   on conflict (environment_id) do nothing`,
);

/** Resets `next_at`, so that the next turn is computed again. */
export const writeEnvironmentRule = statement(
  'environment_rule_write',
  `update environment_rule
      set on_demand_preview = $2, auto_stop = $3, timezone = $4, start_time = $5, stop_time = $6, weekdays = $7::text[],
          next_at = null, updated_at = clock_timestamp()
    where environment_id = $1`,
);

export const setAutoPreview = statement(
  'environment_rule_auto_preview',
  'update environment set auto_preview = $2, updated_at = clock_timestamp() where id = $1 and auto_preview <> $2',
);

export interface DueRow extends WindowRow {
  readonly environment_id: string;
  readonly updated_at: string;
  /** Null: not yet computed. */
  readonly next_at: string | null;
}

const dueColumns = 'environment_id, auto_stop, timezone, start_time, stop_time, weekdays, updated_at, next_at';
const isDue = 'auto_stop and (next_at is null or next_at <= $1::timestamptz)';

/** Parameter `$1`: the current time. Returns due rules, the longest due first. */
export const dueRules = statement<DueRow>(
  'environment_rules_due',
  `select ${dueColumns} from environment_rule where ${isDue} order by next_at nulls first, environment_id limit 100`,
);

/**
 * Returns the due rule of one environment and locks the row until the transaction ends. Returns no row if another
 * process was faster.
 */
export const lockDueRule = statement<DueRow>(
  'environment_rule_lock',
  `select ${dueColumns} from environment_rule where ${isDue} and environment_id = $2 for update`,
);

export const setNext = statement('environment_rule_next', 'update environment_rule set next_at = $2 where environment_id = $1');

/** Skips a turn of a rule that cannot be applied this time. Parameter `$2`: the time at which the turn was due. */
export const passOver = statement(
  'environment_rule_pass_over',
  'update environment_rule set next_at = $3 where environment_id = $1 and next_at = $2',
);

export interface ProjectRuleRow extends WindowRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string | null;
  readonly mode: EnvironmentMode;
  readonly cluster_id: string;
  readonly wildcard: string;
  readonly position: number;
}

const ruleColumns = `id, created_at, updated_at, name, description, mode, cluster_id, auto_stop, timezone, start_time, stop_time,
  weekdays, wildcard, position`;
const visible = 'project_id = $1 and ($2::uuid is null or organization_id = $2)';

export const listProjectRules = statement<ProjectRuleRow>(
  'project_rule_list',
  `select ${ruleColumns} from project_rule where ${visible} order by position`,
);

export const readProjectRule = statement<ProjectRuleRow>(
  'project_rule_read',
  `select ${ruleColumns} from project_rule where ${visible} and id = $3`,
);

/** This lock is not FOR UPDATE, because that would block the creation of environments. */
export const lockProject = statement<{ organization_id: string }>(
  'project_rule_lock_project',
  'select organization_id from project where id = $1 and ($2::uuid is null or organization_id = $2) for no key update',
);

export const findCluster = statement<{ id: string }>(
  'project_rule_cluster',
  'select id from cluster where id = $1 and organization_id = $2',
);

export const createProjectRule = statement(
  'project_rule_create',
  `insert into project_rule (id, organization_id, project_id, cluster_id, name, description, mode, auto_stop, timezone, start_time,
                             stop_time, weekdays, wildcard, position)
   select $1, organization_id, id, $3, $4, $5, $6, $7, $8, $9, $10, $11::text[], $12,
          (select coalesce(max(position) + 1, 0) from project_rule where project_id = $2)
     from project where id = $2`,
);

export const editProjectRule = statement(
  'project_rule_edit',
  `update project_rule
      set cluster_id = $3, name = $4, description = $5, mode = $6, auto_stop = $7, timezone = $8, start_time = $9, stop_time = $10,
          weekdays = $11::text[], wildcard = $12, updated_at = clock_timestamp()
    where id = $1 and project_id = $2`,
);

/** Deletes a rule. The gap that remains in the order does no harm. */
export const deleteProjectRule = statement('project_rule_delete', 'delete from project_rule where id = $1 and project_id = $2');

export const orderProjectRules = statement(
  'project_rule_order',
  `update project_rule set position = wanted.number - 1, updated_at = clock_timestamp()
     from unnest($2::uuid[]) with ordinality as wanted (id, number)
    where project_rule.id = wanted.id and project_rule.project_id = $1 and project_rule.position <> wanted.number - 1`,
);
