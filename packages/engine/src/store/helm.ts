import { statement } from '@davit/db';
import { fenced } from './journal.ts';

/** Deployment, fence, release, commit of the chart or null, commit of the values or null. */
export const setChartCommits = statement(
  'setChartCommits',
  `UPDATE release SET commit = coalesce($4::jsonb, commit), values_commit = coalesce($5, values_commit) WHERE id = $3 AND ${fenced}`,
);
