import { application } from './application.ts';
import { container } from './container.ts';
import { database } from './database.ts';
import type { ServiceKind } from './kind.ts';

const all: ReadonlyMap<string, ServiceKind> = new Map([application, container, database].map((kind) => [kind.type, kind]));

/** The kind of a service by its type. */
export function kindOf(type: string): ServiceKind {
  const kind = all.get(type);
  if (kind === undefined) throw new Error(`no service of type ${type} can exist`);
  return kind;
}
