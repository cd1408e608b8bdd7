import { chartKind } from './chart/kind.ts';
import { jobKind } from './job/kind.ts';
import type { Kind } from './kind.ts';
import { processKind } from './process/kind.ts';
import { terraformKind } from './terraform/kind.ts';

/** The kinds of services of Davit. */
export const allKinds: readonly [Kind, ...Kind[]] = [processKind, jobKind, chartKind, terraformKind];
