import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/** Parameters: deployment, fence, release, commit of the chart or null, commit of the values or null. */
export const setChartCommits = statement(
  'setChartCommits',
  `UPDATE release SET commit = coalesce($4::jsonb, commit), values_commit = coalesce($5, values_commit) WHERE id = $3 AND ${fenced}`,
);

/**
 * Returns whether one of these rollouts was deployed with Davit's own service account. Parameters: service, rollouts.
 */
export const ranClusterWide = statement<{ readonly wide: boolean }>(
  'ranClusterWide',
  `SELECT EXISTS (SELECT FROM deployment_service s JOIN release r ON r.id = s.release_id
                   WHERE s.service_id = $1 AND s.rollout::text = ANY ($2::text[])
                     AND r.config #>> '{source,allowClusterWideResources}' = 'true') AS wide`,
);
