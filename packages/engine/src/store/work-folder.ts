import { statement } from '@davit/db';

/**
 * Returns which of these deployments exist, each with the services whose files are no longer needed. Files of Terraform
 * services are kept, because they may be states that are not stored yet.
 */
export const workLeft = statement<{ readonly id: string; readonly ended: readonly string[] }>(
  'workLeft',
  `SELECT d.id, coalesce(array_agg(s.service_id) FILTER (WHERE s.service_type <> 'TERRAFORM' AND d.status NOT IN ('QUEUED', 'RUNNING')), '{}') AS ended
     FROM deployment d LEFT JOIN deployment_service s ON s.deployment_id = d.id
    WHERE d.id = ANY($1::uuid[]) GROUP BY d.id`,
);
