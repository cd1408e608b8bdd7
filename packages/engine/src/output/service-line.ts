import type { EngineParts } from '../shared/parts.ts';
import { insertServiceLog } from '../store/logs.ts';

interface ServiceLine {
  readonly service: string;
  readonly release: string | null;
  readonly stream: 'stdout' | 'stderr';
  readonly message: string;
}

/**
 * Writes a line of Davit into the log of a service. Users who look there for the output of the service must also find
 * what Davit did with the service.
 */
export async function writeServiceLine(
  { database }: Pick<EngineParts, 'database'>,
  { service, release, stream, message }: ServiceLine,
): Promise<void> {
  const lines = [{ stream, message, source_at: new Date().toISOString() }];
  await database.run(insertServiceLog, [service, release, 'davit', 'davit', JSON.stringify(lines)]);
}
