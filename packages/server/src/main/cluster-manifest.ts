import { roleObjects, type RoleNames } from '@davit/drivers/kubernetes';
import { dump } from 'js-yaml';
import type { Print } from './commands.ts';

/** What an account or a namespace of Kubernetes can be called. */
const labelName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Why objects cannot have these names; null: they can. */
export function manifestFault(names: RoleNames): string | null {
  const wrong = Object.entries(names).find(([, value]) => !labelName.test(value));
  return wrong === undefined
    ? null
    : `--${wrong[0]} must have 1 to 63 lower-case letters, digits and -, not ${JSON.stringify(wrong[1])}`;
}

/** Prints, as YAML for `kubectl apply`, the account that Davit needs on a cluster, with the least that it must be allowed. `charts`: also to deploy charts of Helm. */
export function printManifest(names: RoleNames, charts: boolean, print: Print): number {
  // A rule on a line: so it can be read, and compared with what a cluster has.
  const documents = roleObjects(names, { charts }).map((object) => dump(object, { flowLevel: 2, lineWidth: 160 }));
  return print(documents.join('---\n'));
}
