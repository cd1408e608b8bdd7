import { statement } from '@davit/db';

/** Parameter: environment. Returns its jobs, oldest first. */
export const jobsOfEnvironment = statement<{ readonly id: string }>(
  'job_cleaning_jobs',
  `select id from service where environment_id = $1 and type = 'JOB' order by created_at, id`,
);

/** Parameters: job, organization of the caller. */
export const readJobCluster = statement<{ readonly driver: string }>(
  'job_cleaning_place',
  `select cluster.driver from service
     join environment on environment.id = service.environment_id
     join cluster on cluster.id = environment.cluster_id
    where service.id = $1 and service.type = 'JOB' and ($2::uuid is null or service.organization_id = $2)`,
);
