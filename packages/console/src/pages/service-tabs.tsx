import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Service } from '../words.ts';

/** The tabs of a service that depend on its kind. */
export function ServiceTabs({ service }: { readonly service: Service }): ReactNode {
  const params = { environmentId: service.environment.id, serviceId: service.id };
  return (
    <>
      {service.service_type !== 'DATABASE' && (
        <Link to="/environment/$environmentId/service/$serviceId/variables" params={params}>
          Variables
        </Link>
      )}
      <Link to="/environment/$environmentId/service/$serviceId/settings" params={params}>
        Settings
      </Link>
    </>
  );
}
