import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { hasDomains } from '../data/domains.ts';
import { hasGitEvents } from '../data/git-events.ts';
import { hasMetrics } from '../data/metrics.ts';
import type { Service } from '../words.ts';

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
