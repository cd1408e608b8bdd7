import { journalVersion } from './journal.ts';

/*
 * Statements that adapt the engine's tables after an installation was moved to another place. They run there, in the
 * transaction of the import. No work that was under way is resumed, because the former place may still be doing it.
 * Everything that should run is deployed again.
 */

/** The statements, in the order of their execution. */
export const arrivalStatements: readonly string[] = [
  // Work that was running or queued is over, because its engine, processes and images are elsewhere.
  `UPDATE deployment_step SET status = 'CANCELED', finished_at = clock_timestamp() WHERE status = 'RUNNING'`,
  `UPDATE deployment_service s SET phase = 'CANCELED', finished_at = clock_timestamp() FROM deployment d
    WHERE d.id = s.deployment_id AND d.status = 'RUNNING' AND s.phase NOT IN ('SUCCEEDED', 'FAILED', 'BUILD_FAILED', 'CANCELED')`,
  `UPDATE deployment SET finished_at = clock_timestamp(), lease_until = NULL, is_next = false,
          status = CASE status WHEN 'QUEUED' THEN 'WITHDRAWN' ELSE 'CANCELED' END
    WHERE status IN ('QUEUED', 'RUNNING')`,
  `UPDATE job_run SET status = 'CANCELED', finished_at = clock_timestamp() WHERE status = 'RUNNING'`,
  // The deployments below create the schedules again.
  'DELETE FROM job_schedule',
  // The conditions were observed in instances of another engine.
  'DELETE FROM service_condition',
  'UPDATE service_runtime SET running_status = NULL',
  // Image ids belong to the former engine. An engine that has the same images finds them by name.
  'UPDATE release SET image_id = NULL, collected_image = NULL WHERE image_id IS NOT NULL OR collected_image IS NOT NULL',
  // Creates deployments of everything that should run, with the same commits, digests and variables. Terraform
  // configurations are left out, because they run nothing.
  // Each service gets a call of its own, so that a failing service does not prevent the others from being deployed.
  `WITH due AS (
     SELECT t.*, l.service_type, l.service_name, l.icon_uri, l.stage_id, l.stage_name, l.stage_position, l.cluster_id
       FROM service_runtime t CROSS JOIN LATERAL (
         SELECT s.*, d.cluster_id FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
          WHERE s.service_id = t.service_id ORDER BY s.created_at DESC LIMIT 1) l
      WHERE t.desired = 'RUNNING' AND t.release_id IS NOT NULL AND l.service_type <> 'TERRAFORM'
   ), made AS (
     INSERT INTO deployment (id, organization_id, project_id, environment_id, cluster_id, driver, action, origin, triggered_by, actor,
                             journal_version, is_next)
     SELECT DISTINCT ON (environment_id) gen_random_uuid(), organization_id, project_id, environment_id, cluster_id, driver, 'DEPLOY',
            'SERVICE_INTERNAL', 'davit import', 'davit import', ${journalVersion}, true FROM due
     RETURNING id, environment_id
   )
   INSERT INTO deployment_service (deployment_id, service_id, service_type, service_name, icon_uri, release_id, rollout, stage_id,
                                   stage_name, stage_position, call_id)
   SELECT m.id, d.service_id, d.service_type, d.service_name, d.icon_uri, d.release_id, gen_random_uuid(), d.stage_id, d.stage_name,
          d.stage_position, gen_random_uuid()
     FROM due d JOIN made m ON m.environment_id = d.environment_id`,
];
