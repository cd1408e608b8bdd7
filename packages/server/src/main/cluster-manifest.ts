import { roleObjects, type RoleNames } from '@davit/drivers/kubernetes';
import { dump } from 'js-yaml';
import type { Print } from './commands.ts';

/** The names that Kubernetes permits for a service account or a namespace. */
const labelName = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Returns why Kubernetes rejects these names; null if they are valid. */
export function manifestFault(names: RoleNames): string | null {
  const wrong = Object.entries(names).find(([, value]) => !labelName.test(value));
  return wrong === undefined
    ? null
    : `--${wrong[0]} must have 1 to 63 lower-case letters, digits and -, not ${JSON.stringify(wrong[1])}`;
}

/**
 * Prints the service account that Davit needs on a cluster, with the fewest permissions, as YAML for `kubectl apply`.
 *
 * @param charts Whether to include the permissions for deploying Helm charts.
 */
export function printManifest(names: RoleNames, charts: boolean, print: Print): number {
  // Each rule is on one line, so that it can be read and compared with the rules on a cluster.
  const documents = roleObjects(names, { charts }).map((object) => dump(object, { flowLevel: 2, lineWidth: 160 }));
  return print(documents.join('---\n'));
}
