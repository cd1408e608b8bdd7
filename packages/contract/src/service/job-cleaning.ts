import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, Named, Uuid } from '../shape.ts';
import { kinds } from './kinds.ts';

const names = Type.Array(Type.String());

export const cleanFailedJobs = operation({
  id: 'cleanFailedJobs',
  method: 'POST',
  path: '/environment/{environmentId}/cleanFailedJobs',
  tag: 'Environment',
  summary: 'Clean up ended runs of an environment',
  description: `
    Removes what ended runs of jobs left on the cluster, at once. Davit does so by itself after each run; this helps
    when the cluster was unreachable then. Active runs, logs, history and states stay.
  `,
  scope: 'DEPLOY',
  target: 'environment',
  body: Named(
    'CleanFailedJobsRequest',
    Type.Object({
      job_ids: Type.Optional(about('The jobs. Without them: all of the environment.', Type.Array(Uuid, { maxItems: 1000 }))),
    }),
    'Which jobs to clean up.',
  ),
  bodyRequired: false,
  status: 200,
  response: Named(
    'CleanFailedJobsResponse',
    Type.Object({
      clean_job_ids: about('The jobs of which something was there.', Type.Array(Uuid)),
      clean_kubernetes_jobs: about('The names of the objects that were there.', names),
    }),
    'The jobs and names of what was removed.',
  ),
  errors: [400, 424],
});

export const cleanFailedJob = operation({
  id: 'cleanFailedJob',
  method: 'POST',
  path: '/job/{jobId}/cleanFailedJob',
  tag: kinds.JOB.Noun,
  summary: 'Clean up ended runs of a job',
  description: `
    Removes what ended runs of the job left on the cluster, at once. An active run, logs, history and the state
    stay: a failed job is failed until it is deployed again.
  `,
  scope: 'DEPLOY',
  target: 'service',
  status: 200,
  response: Named(
    'CleanFailedJobResponse',
    Type.Object({ clean_kubernetes_jobs: about('The names of the objects that were there.', names) }),
    'The names of what was removed.',
  ),
  errors: [424],
});
