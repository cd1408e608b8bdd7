import type { Row } from '../row.ts';
import { checkRow } from './check.ts';
import { createsRow } from './creates.ts';
import { addressesRow } from './addresses.ts';
import { commandLineRow } from './command-line.ts';
import { consoleRow } from './console.ts';
import { commitsRow } from './commits.ts';
import { crowdRow } from './crowd.ts';
import { deploysRow } from './deploys.ts';
import { endsRow } from './ends.ts';
import { growthRow } from './growth.ts';
import { kubernetesCrowdRow, kubernetesRow } from './kubernetes.ts';
import { logsRow } from './logs.ts';
import { memoryRow } from './memory.ts';
import { overviewRow } from './overview.ts';
import { queueRow } from './queue.ts';
import { readsRow } from './reads.ts';
import { redeploysRow } from './redeploys.ts';
import { restRow } from './rest.ts';
import { statusRow } from './status.ts';
import { streamsRow } from './streams.ts';
import { vocabularyRow } from './vocabulary.ts';
import { startRow } from './start.ts';

/** All rows, in the order of the budget table. */
export const rows: readonly Row[] = [
  readsRow,
  createsRow,
  deploysRow,
  commitsRow,
  endsRow,
  addressesRow,
  crowdRow,
  growthRow,
  logsRow,
  overviewRow,
  consoleRow,
  queueRow,
  streamsRow,
  restRow,
  statusRow,
  startRow,
  commandLineRow,
  vocabularyRow,
  memoryRow,
  redeploysRow,
  checkRow,
];

/** Rows that need more than this machine; they run only on demand. */
export const rowsOnDemand: readonly Row[] = [kubernetesRow, kubernetesCrowdRow];
