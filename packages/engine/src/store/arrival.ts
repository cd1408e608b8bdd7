import { journalVersion } from './journal.ts';

/*
 * What becomes of the engine's tables when an instance was moved to another place, by statements that run there in the transaction of
 * the import. Nothing of what it was doing goes on by itself, as the other place may still do it; what should run is deployed anew.
 */

/** In this order. */
export const arrivalStatements: readonly string[] = [
  // What was under way or waited is over: its engine, its processes and its images are elsewhere.
  `UPDATE deployment_step SET status = 'CANCELED', finished_at = clock_timestamp() WHERE status = 'RUNNING'`,
  `UPDATE deployment_service s SET phase = 'CANCELED', finished_at = clock_timestamp() FROM deployment d
    WHERE d.id = s.deployment_id AND d.status = 'RUNNING' AND s.phase NOT IN ('SUCCEEDED', 'FAILED', 'BUILD_FAILED', 'CANCELED')`,
  `UPDATE deployment SET finished_at = clock_timestamp(), lease_until = NULL,
          status = CASE status WHEN 'QUEUED' THEN 'WITHDRAWN' ELSE 'CANCELED' END
    WHERE status IN ('QUEUED', 'RUNNING')`,
  `UPDATE job_run SET status = 'CANCELED', finished_at = clock_timestamp() WHERE status = 'RUNNING'`,
  // Armed again by the deployments below.
  'DELETE FROM job_schedule',
  // Observed in instances of another engine.
  'DELETE FROM service_condition',
  'UPDATE service_runtime SET running_status = NULL',
  // Ids of another engine. One that has the same images finds them by their names.
  'UPDATE release SET image_id = NULL, collected_image = NULL WHERE image_id IS NOT NULL OR collected_image IS NOT NULL',
  // What should run, as it ran: the same commits, digests, variables. Terraform configurations run nothing.
  // Each service is a call of its own, so that one that fails keeps no other from coming back.
  `WITH due AS (
     SELECT t.*, l.service_type, l.service_name, l.icon_uri, l.stage_id, l.stage_name, l.stage_position, l.cluster_id
       FROM service_runtime t CROSS JOIN LATERAL (
         SELECT s.*, d.cluster_id FROM deployment_service s JOIN deployment d ON d.id = s.deployment_id
          WHERE s.service_id = t.service_id ORDER BY s.created_at DESC LIMIT 1) l
      WHERE t.desired = 'RUNNING' AND t.release_id IS NOT NULL AND l.service_type <> 'TERRAFORM'
   ), made AS (
     INSERT INTO deployment (id, organization_id, project_id, environment_id, cluster_id, driver, action, origin, triggered_by, actor,
                             journal_version)
     SELECT DISTINCT ON (environment_id) gen_random_uuid(), organization_id, project_id, environment_id, cluster_id, driver, 'DEPLOY',
            'SERVICE_INTERNAL', 'davit import', 'davit import', ${journalVersion} FROM due
     RETURNING id, environment_id
   )
   INSERT INTO deployment_service (deployment_id, service_id, service_type, service_name, icon_uri, release_id, rollout, stage_id,
                                   stage_name, stage_position, call_id)
   SELECT m.id, d.service_id, d.service_type, d.service_name, d.icon_uri, d.release_id, gen_random_uuid(), d.stage_id, d.stage_name,
          d.stage_position, gen_random_uuid()
     FROM due d JOIN made m ON m.environment_id = d.environment_id`,
];
