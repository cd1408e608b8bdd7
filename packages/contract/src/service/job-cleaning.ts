import Type from 'typebox';
import { operation } from '../operation.ts';
import { Uuid, Named } from '../shape.ts';
import { kinds } from './kinds.ts';

const names = Type.Array(Type.String());

export const cleanFailedJobs = operation({
  id: 'cleanFailedJobs',
  method: 'POST',
  path: '/environment/{environmentId}/cleanFailedJobs',
  tag: 'Environment',
  summary:
    'Remove what ended runs of jobs left on the cluster, of all jobs or those of `job_ids`; logs and history stay. Answers what was there',
  scope: 'DEPLOY',
  target: 'environment',
  body: Named('CleanFailedJobsRequest', Type.Object({ job_ids: Type.Optional(Type.Array(Uuid, { maxItems: 1000 })) })),
  bodyRequired: false,
  status: 200,
  response: Named('CleanFailedJobsResponse', Type.Object({ clean_job_ids: Type.Array(Uuid), clean_kubernetes_jobs: names })),
  errors: [400, 424],
});

export const cleanFailedJob = operation({
  id: 'cleanFailedJob',
  method: 'POST',
  path: '/job/{jobId}/cleanFailedJob',
  tag: kinds.JOB.Noun,
  summary: 'Remove what ended runs of a job left on the cluster; logs and history stay. Answers what was there',
  scope: 'DEPLOY',
  target: 'service',
  status: 200,
  response: Named('CleanFailedJobResponse', Type.Object({ clean_kubernetes_jobs: names })),
  errors: [424],
});
