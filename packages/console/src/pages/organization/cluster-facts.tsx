import type { CallAnswer } from '@davit/client';
import type { ReactNode } from 'react';
import { State } from '../../parts/state.tsx';
import { coresOf, memoryOf } from '../../quantity.ts';
import { sentence, shapeOf, stateWords, type Shape } from '../../words.ts';

export type Cluster = CallAnswer<'listOrganizationCluster'>['results'][number];

/** The state of a cluster, in the word of the API. */
export function ClusterState({ word }: { readonly word: Cluster['status'] }): ReactNode {
  if (word === undefined) return <span className="text-muted">–</span>;
  const known = stateWords.find((one) => one === word);
  const shape: Shape = word === 'INVALID_CREDENTIALS' ? 'bad' : known === undefined ? 'off' : shapeOf(known);
  return <State shape={shape}>{sentence(word)}</State>;
}

/** Processor and memory of a cluster, for people. */
export function capacityOf({ cpu, memory }: Cluster): string {
  if (cpu === undefined || memory === undefined) return '–';
  return `${coresOf(cpu)}, ${memoryOf(memory)}`;
}
