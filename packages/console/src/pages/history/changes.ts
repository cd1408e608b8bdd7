import type { AuditEvent } from '../../data/audit.ts';
import { sentence } from '../../words.ts';

/** A field that a change set to another value. undefined: there was, or is, none. */
export interface FieldChange {
  readonly field: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/** Fields that differ after every change, or name what the change is about. */
const unsaid = new Set([
  'id',
  'created_at',
  'updated_at',
  'organization_id',
  'project_id',
  'environment_id',
  'service_id',
  'deleting',
  'driver',
  'is_secret',
  'key',
  'stage_entered_at',
  'stage_entry_id',
  'stage_entry_updated_at',
  'type',
]);

/** Returns the fields that a change of the audit log set, sorted by name. The server masks secrets. */
export function fieldChanges({
  change,
  original_change: former,
  event_type: type,
  sub_target_type: sub,
}: AuditEvent): FieldChange[] {
  // A new service differs in everything from nothing.
  if (sub === null && type !== 'UPDATE') return [];
  const before = flat(parsed(former ?? ''));
  const after = flat(parsed(change));
  const fields = [...new Set([...before.keys(), ...after.keys()])].toSorted();
  return fields
    .map((field) => ({ field, before: before.get(field), after: after.get(field) }))
    .filter((one) => one.before !== one.after);
}

function parsed(json: string): unknown {
  if (json === '') return {};
  try {
    return JSON.parse(json);
  } catch {
    // A record that is too large is cut by the server: then only the event is known.
    return {};
  }
}

/** Returns the values of a record by the paths of their fields. Empty ones are left out, as they say nothing. */
function flat(value: unknown, path = '', found = new Map<string, string>()): Map<string, string> {
  if (value === null || value === undefined || value === '') return found;
  if (typeof value === 'object') {
    for (const [name, member] of Object.entries(value)) {
      // Settings of a service are one member of its record.
      if (path === '' && name === 'spec') flat(member, path, found);
      else if (path !== '' || !unsaid.has(name)) flat(member, path === '' ? name : `${path}.${name}`, found);
    }
    return found;
  }
  return found.set(path, typeof value === 'string' ? value : JSON.stringify(value));
}

/** Returns what a change did, in one line: "Variable LOG_LEVEL changed". */
export function titleOf(event: AuditEvent): string {
  const { sub_target_type: sub, event_type: type, target_type: target } = event;
  const verb = type === 'CREATE' ? 'added' : type === 'DELETE' ? 'deleted' : type === 'CLONE' ? 'cloned' : 'changed';
  if (sub === null && fieldChanges(event)[0]?.field === 'stage_id') return 'Deployment stage changed';
  if (sub === null) return `${type === 'UPDATE' ? 'Settings' : sentence(target)} ${type === 'CREATE' ? 'created' : verb}`;
  return `${sentence(sub)}${nameIn(event)} ${verb}`;
}

function nameIn({ change, original_change: former }: AuditEvent): string {
  const record = parsed(change === '' ? (former ?? '') : change);
  for (const name of ['key', 'domain', 'name']) {
    const value: unknown = typeof record === 'object' && record !== null ? Reflect.get(record, name) : undefined;
    if (typeof value === 'string') return ` ${value}`;
  }
  return '';
}
