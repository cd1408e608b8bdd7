import { application } from './application.ts';
import { container } from './container.ts';
import { database } from './database.ts';
import { helm } from './helm.ts';
import { job } from './job.ts';
import type { DeploySource, ServiceKind } from './kind.ts';
import { terraform } from './terraform.ts';

const all: ReadonlyMap<string, ServiceKind> = new Map(
  [application, container, database, job, helm, terraform].map((kind) => [kind.type, kind]),
);

/** Returns the kind for a type of service. */
export function kindOf(type: string): ServiceKind {
  const kind = all.get(type);
  if (kind === undefined) throw new Error(`no service of type ${type} can exist`);
  return kind;
}

/** Returns the wish of a request to deploy a service of this type. Fails with VALIDATION_FAILED. */
export function deploySource(type: string, request: unknown): DeploySource {
  return kindOf(type).choice(request);
}
