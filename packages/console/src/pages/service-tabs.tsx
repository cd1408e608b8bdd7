import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { hasDomains } from '../data/domains.ts';
import { hasGitEvents } from '../data/git-events.ts';
import { hasMetrics } from '../data/metrics.ts';
import type { Service } from '../words.ts';

/** Pages that only some kinds of services have, by their names in the address. */
const onlySome: Readonly<Record<string, (service: Service) => boolean>> = {
  domains: hasDomains,
  connection: ({ service_type: type }) => type === 'DATABASE',
  backups: ({ service_type: type }) => type === 'DATABASE',
  runs: ({ service_type: type }) => type === 'JOB',
  'git-events': hasGitEvents,
};

/** Returns whether a service of this kind has the page, which an address may name for another kind. */
export function hasTab(service: Service, tab: string): boolean {
  return onlySome[tab]?.(service) ?? true;
}

/** The tabs of a service that depend on its kind. */
export function ServiceTabs({ service }: { readonly service: Service }): ReactNode {
  const params = { environmentId: service.environment.id, serviceId: service.id };
  return (
    <>
      {hasMetrics(service) && (
        <Link to="/environment/$environmentId/service/$serviceId/metrics" params={params}>
          Metrics
        </Link>
      )}
      <Link to="/environment/$environmentId/service/$serviceId/history" params={params}>
        History
      </Link>
      {service.service_type !== 'DATABASE' && (
        <Link to="/environment/$environmentId/service/$serviceId/variables" params={params}>
          Variables
        </Link>
      )}
      {hasDomains(service) && (
        <Link to="/environment/$environmentId/service/$serviceId/domains" params={params}>
          Domains
        </Link>
      )}
      {service.service_type === 'DATABASE' && (
        <>
          <Link to="/environment/$environmentId/service/$serviceId/connection" params={params}>
            Connection
          </Link>
          <Link to="/environment/$environmentId/service/$serviceId/backups" params={params}>
            Backups
          </Link>
        </>
      )}
      {service.service_type === 'JOB' && (
        <Link to="/environment/$environmentId/service/$serviceId/runs" params={params}>
          Runs
        </Link>
      )}
      {hasGitEvents(service) && (
        <Link to="/environment/$environmentId/service/$serviceId/git-events" params={params}>
          Git events
        </Link>
      )}
      <Link to="/environment/$environmentId/service/$serviceId/settings" params={params}>
        Settings
      </Link>
    </>
  );
}
