import type { Client } from '@davit/client';
import type { Cli } from './cli.ts';
import { changeLines, compareReleases, type Comparison } from './changes.ts';
import { deploymentNumber, readHistory, workedBefore, type HistoryEntry } from './history.ts';
import { ago, wrap } from './output/text.ts';
import type { ServiceReference } from './location.ts';
import type { ServiceStatus } from './statuses.ts';

type Failure = NonNullable<ServiceStatus['failure']>;

interface Explained {
  readonly name: string;
  readonly failure: Failure;
  readonly status: ServiceStatus | undefined;
  readonly history: readonly HistoryEntry[];
  /** The release that failed, compared with the one that worked before it; null if it is not known. */
  readonly comparison: Comparison | null;
  /** The deployment that failed. Default: the newest one of the status. */
  readonly executionId?: string;
}

const mostSeen = 12;
const label = 9;

/** Writes why a service failed to stderr: what happened, what was seen, what changed, what to do, what to type. */
export function explainFailure(cli: Cli, explained: Explained): void {
  for (const line of explanation(cli, explained)) cli.out.talk(line);
}

/** Reads what an explanation needs besides the failure: the deployments, and what changed since it last worked. */
export async function readCircumstances(client: Client, service: ServiceReference, executionId: string | undefined) {
  const history = await readHistory(client, service);
  const failed = history.find(({ identifier }) => identifier.execution_id === executionId);
  const to = failed?.release_id;
  return { history, comparison: to === null || to === undefined ? null : await compareReleases(client, service.id, { to }) };
}

/** Returns the lines of an explanation. */
export function explanation(cli: Cli, explained: Explained): string[] {
  const { name, failure, status, history, executionId = status?.execution_id } = explained;
  const { out } = cli;
  const columns = Math.max(40, out.columns) - 2;
  const lines = headline(`${name}: ${failure.message}`, failure.code, columns).map((line) =>
    line.replace(failure.code, out.style('red', failure.code)),
  );
  lines.push(...nowLines(status));
  const sections: [string, string[]][] = [
    ['Seen', seenIn(failure).flatMap((line) => wrap(line, columns - label))],
    ['Changed', changedSince(cli, explained)],
    ['Do', wrap(failure.hint, columns - label)],
  ];
  lines.push('');
  for (const [title, texts] of sections) {
    texts.forEach((text, index) => lines.push(`${(index === 0 ? title : '').padEnd(label)}${text}`));
  }
  const worked = workedBefore(history, executionId);
  const rollback = worked?.release_id === null || worked === undefined ? '' : ` · davit rollback ${name}`;
  return [...lines, '', `davit logs ${name}${rollback}`].map((line) => (line === '' ? '' : `  ${line}`));
}

/** The message, and the code at the right edge where there is room. */
function headline(message: string, code: string, columns: number): string[] {
  const lines = wrap(message, columns);
  const last = lines.at(-1) ?? '';
  const width = columns - last.length - code.length;
  if (width < 2) return [...lines, code.padStart(columns)];
  return [...lines.slice(0, -1), `${last}${' '.repeat(width)}${code}`];
}

function nowLines(status: ServiceStatus | undefined): string[] {
  const { running_instances: running, wanted_instances: wanted } = status ?? {};
  if (running === null || running === undefined || wanted === null || wanted === undefined) return [];
  if (running === 0) return ['No instance is running: nothing answers.'];
  return [`${running} of ${wanted} ${wanted === 1 ? 'instance is' : 'instances are'} running.`];
}

function seenIn({ evidence: { lines = [], exit, probe = [], listening = [], original } }: Failure): string[] {
  const seen = [
    ...lines,
    ...(exit === undefined ? [] : [`exit code ${exit.code}${exit.out_of_memory ? ', killed for memory' : ''}`]),
    ...probe.map((line) => `probe ${line}`),
    ...(listening.length === 0 ? [] : [`listens on ${listening.join(', ')}`]),
    ...(original === undefined ? [] : original.split('\n')),
  ];
  return seen.slice(-mostSeen);
}

const mostChanges = 8;

function changedSince(cli: Cli, { history, comparison, executionId, status }: Explained): string[] {
  const failed = history.find(({ identifier }) => identifier.execution_id === (executionId ?? status?.execution_id));
  if (failed === undefined) return [];
  const worked = workedBefore(history, failed.identifier.execution_id);
  if (worked === undefined || comparison === null) {
    return worked === undefined ? ['It has never worked: this is its first deployment that got so far.'] : [];
  }
  const since = `since deployment ${deploymentNumber(worked.identifier.execution_id)}, ${ago(worked.auditing_data.created_at, cli.now())}`;
  const lines = changeLines(cli.out, comparison, 'talk');
  if (lines.length === 0) return [`nothing ${since}: the cause is elsewhere`];
  const more = lines.length > mostChanges ? [`and ${lines.length - mostChanges} more: davit diff`] : [];
  return [cli.out.style('grey', since), ...lines.slice(0, mostChanges), ...more];
}
