import { plural, type Service } from '../../words.ts';

/** The question of a deletion. */
export interface Loss {
  readonly verb: string;
  readonly words: string;
}

/** Returns what is lost with an environment; services that are undefined were not read, which does not mean none. */
export function lossOf(services: readonly Pick<Service, 'name'>[] | undefined): Loss {
  if (services === undefined) return { verb: 'Delete it and its services', words: 'Its services are lost with all their data.' };
  if (services.length === 0) return { verb: 'Delete', words: 'It has no services.' };
  const names = services.map(({ name }) => name).join(', ');
  return { verb: `Delete it and ${plural(services.length, 'service')}`, words: `Lost with all their data: ${names}.` };
}
