import { tagDescriptions, tagSections, type Operation } from '@davit/contract';

/** Operations of one tag about the same thing, for example the variables of an application. */
export interface Topic {
  readonly title: string;
  readonly operations: readonly Operation[];
}

export interface Group {
  readonly tag: string;
  readonly address: string;
  readonly description: string;
  readonly topics: readonly Topic[];
}

export interface Section {
  readonly title: string;
  readonly groups: readonly Group[];
}

/** Topics of a tag in their order. An operation belongs to the first whose pattern its path matches. */
const topics: readonly (readonly [title: string, pattern: RegExp])[] = [
  ['Variables and secrets', /environmentVariable|\/secret|\/variable/i],
  ['Custom domains', /customDomain/i],
  ['Advanced settings and network', /advancedSettings|\/network/i],
  ['Deployment rules', /deploymentRule/i],
  ['Backups', /backup|restore/i],
  ['Deployments', /\/(deploy|redeploy|reboot|restart|stop|uninstall|cancelDeployment|deployAll|delete-selected|clean)/i],
  ['Deployments', /deploymentHistory|\/status|\/statuses|\/commit|preview|auto-?deploy/i],
  ['Logs and metrics', /\/logs?\b|metric|\/link/i],
];
const rest = 'Create and change';
const order = [rest, 'Deployments', 'Logs and metrics', ...new Set(topics.map(([title]) => title))];

/** Verbs of operation ids in the order in which they stand in a topic; all others stand between the last two lists. */
const first = ['deploy', 'redeploy', 'reboot', 'stop', 'create', 'list', 'get', 'edit'];
const last = ['uninstall', 'revoke', 'remove', 'delete'];

/** Returns the operations in the order in which a user meets them. */
export function readingOrder(operations: readonly Operation[]): readonly Section[] {
  return tagSections.map(({ title, tags }) => ({
    title,
    groups: tags.map((tag) =>
      groupOf(
        tag,
        operations.filter((one) => one.tag === tag),
      ),
    ),
  }));
}

export function groupAddress(tag: string): string {
  return `/docs/groups/${tag.toLowerCase().replaceAll(' ', '-')}`;
}

export function operationAddress(id: string): string {
  return `/docs/operations/${id}`;
}

function groupOf(tag: string, operations: readonly Operation[]): Group {
  const byTopic = Map.groupBy(operations, topicOf);
  const sorted = [...byTopic].toSorted(([one], [other]) => order.indexOf(one) - order.indexOf(other));
  return {
    tag,
    address: groupAddress(tag),
    description: tagDescriptions[tag] ?? '',
    topics: sorted.map(([title, members]) => ({
      title,
      operations: members.toSorted((one, other) => orderOf(one) - orderOf(other)),
    })),
  };
}

function topicOf({ path }: Operation): string {
  return topics.find(([, pattern]) => pattern.test(path))?.[0] ?? rest;
}

function orderOf({ id }: Operation): number {
  const begins = (verb: string): boolean => id.startsWith(verb);
  const [early, late] = [first.findIndex(begins), last.findIndex(begins)];
  if (early >= 0) return early;
  return late < 0 ? first.length : first.length + 1 + late;
}
