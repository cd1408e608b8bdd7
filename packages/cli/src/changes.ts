import type { CallAnswer, Client } from '@davit/client';
import type { Output } from './output/output.ts';
import { cut } from './output/text.ts';

export type Comparison = CallAnswer<'compareServiceReleases'>;

/**
 * Returns the settings that differ between two releases of a service. Without `to`, the later one is what a deployment
 * would use now; without `from`, the earlier one worked last before `to`, or is the deployed one.
 */
export function compareReleases(client: Client, serviceId: string, query: { from?: string; to?: string }): Promise<Comparison> {
  return client.call('compareServiceReleases', { params: { serviceId }, query });
}

const longest = 60;

/** Returns a line for each setting: "variables.HOST  0.0.0.0 → localhost". */
export function changeLines(out: Output, { changes }: Comparison, where: 'talk' | 'data'): string[] {
  const pad = Math.max(0, ...changes.map(({ path }) => path.length));
  return changes.map(({ path, kind, before, after, secret }) => {
    const name = path.padEnd(pad);
    if (secret) return `${name}  ${out.style('grey', `secret, ${kind.toLowerCase()}`, where)}`;
    const [from, to] = [before, after].map((value) => cut(JSON.stringify(value ?? '').slice(1, -1), longest));
    if (kind === 'ADDED') return `${name}  ${out.style('green', `+ ${to}`, where)}`;
    if (kind === 'REMOVED') return `${name}  ${out.style('red', `- ${from}`, where)}`;
    return `${name}  ${from} ${out.either('→', '->')} ${to}`;
  });
}
