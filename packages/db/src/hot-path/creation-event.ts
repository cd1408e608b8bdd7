/**
 * Returns SQL that writes the audit event of a new record, as a part of the batched statement that creates the record:
 * `, noted as (…)`. The trigger `record_change` does the same for all other creates; the trigger, and passing the
 * request to it, take 40 µs. Every name is a column or a literal of `from`, which must contain `asked`; the parameter
 * `request` of the statement must be of type text.
 */
export function creationEvent(event: {
  readonly from: string;
  readonly organizationId: string;
  readonly type: string;
  readonly id: string;
  readonly name: string;
  readonly project: readonly [id: string, name: string];
  readonly environment?: readonly [id: string, name: string];
  /** The new row as jsonb. */
  readonly after: string;
}): string {
  const [environmentId, environmentName] = event.environment ?? ['null::uuid', 'null::text'];
  return `noted as (
     insert into audit_event (organization_id, event_type, target_type, target_id, target_name, project_id, project_name,
                              environment_id, environment_name, origin, triggered_by, actor, operation, user_agent, address, after)
     select ${event.organizationId}, 'CREATE', ${event.type}, ${event.id}, ${event.name}, ${event.project.join(', ')},
            ${environmentId}, ${environmentName}, ask ->> 'origin', ask ->> 'triggered_by', ask ->> 'actor', ask ->> 'operation',
            ask ->> 'user_agent', ask ->> 'address', ${event.after}
       from ${event.from}, lateral (select asked.request::jsonb) as request (ask) where ask is not null
   )`;
}
