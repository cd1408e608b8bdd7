import { pause } from '@davit/base';
import type { Queryable } from '@davit/db';
import type { Settings } from '../../configuration.ts';
import { validationDomain } from '../service/index.ts';
import type { EndpointSettings } from '../shared/public-endpoint.ts';
import { checkDomain } from '../../dns/check.ts';
import { createDns } from '../../dns/dns.ts';
import { proofRecord } from './proof.ts';
import { listDomainsOfType } from './store.ts';

/** How long a deployment waits for DNS. */
const maxMilliseconds = 5_000;

/**
 * Returns what is wrong in DNS with the custom domains of a service, one line per problem. The check delays a
 * deployment by a few seconds at most.
 */
export async function domainRemarks(
  db: Queryable,
  config: Settings<keyof EndpointSettings | 'dnsServers'>,
  serviceId: string,
): Promise<readonly string[]> {
  const rows = await db.many(listDomainsOfType, [serviceId]);
  const dns = createDns(config);
  const checks = rows.map(async (row) => {
    const found = await checkDomain(dns, row, validationDomain(config, { ...row, id: serviceId }));
    const { name, text } = proofRecord(row.host, row.organization_id);
    return row.proven_at === null && found.details === null
      ? {
          details: `${row.host} is not proven to be yours yet, so nothing answers there: create a TXT record of ${name} with the text ${text}, then deploy again.`,
        }
      : found;
  });
  const given = new AbortController();
  const late = pause(maxMilliseconds, given.signal).then(() => null);
  const found = await Promise.race([Promise.all(checks), late]);
  given.abort();
  if (found === null) return ['DNS did not answer in time, so the domain could not be checked.'];
  return found.flatMap(({ details }) => (details === null ? [] : [details]));
}
