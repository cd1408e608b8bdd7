import { statement } from '@davit/db';

/**
 * Returns which of these deployments exist, each with the services whose files are no longer needed. Files of Terraform
 * services are kept, because they may be states that are not stored yet.
 */
export const workLeft = statement<{ readonly id: string; readonly ended: readonly string[] }>(
  'work_left',
  `select d.id, coalesce(array_agg(s.service_id) filter (where s.service_type <> 'TERRAFORM' and d.status not in ('QUEUED', 'RUNNING')), '{}') as ended
     from deployment d left join deployment_service s on s.deployment_id = d.id
    where d.id = any($1::uuid[]) group by d.id`,
);

/** Returns which of these organizations have a service that was deployed. */
export const organizationsWithServices = statement<{ readonly id: string }>(
  'organizations_with_services',
  `select distinct organization_id as id from service_runtime where organization_id = any($1::uuid[])`,
);
