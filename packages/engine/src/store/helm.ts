import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/** Parameters: deployment, fence, release, commit of the chart or null, commit of the values or null. */
export const setChartCommits = statement(
  'set_chart_commits',
  `update release set commit = coalesce($4::jsonb, commit), values_commit = coalesce($5, values_commit) where id = $3 and ${fenced}`,
);

/**
 * Returns whether one of these rollouts was deployed with Davit's own service account. Parameters: service, rollouts.
 */
export const ranClusterWide = statement<{ readonly wide: boolean }>(
  'ran_cluster_wide',
  `select exists (select from deployment_service s join release r on r.id = s.release_id
                   where s.service_id = $1 and s.rollout::text = any ($2::text[])
                     and r.config #>> '{source,allowClusterWideResources}' = 'true') as wide`,
);
