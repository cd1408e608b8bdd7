import type { Row } from '../row.ts';
import { createsRow } from './creates.ts';
import { deploysRow } from './deploys.ts';
import { readsRow } from './reads.ts';

/** All rows, in the order of the budget table. */
export const rows: readonly Row[] = [readsRow, createsRow, deploysRow];
