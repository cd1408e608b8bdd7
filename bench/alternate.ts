import { ratioOf, toSeries, type Series } from './statistics.ts';

export interface Sides {
  readonly davit: (round: number) => Promise<number>;
  readonly floor: (round: number) => Promise<number>;
}

export interface Comparison {
  readonly davit: Series;
  readonly floor: Series;
  readonly ratio: number;
}

/**
 * Measures both sides in alternation, A B B A A B B A …: other load on the machine affects both sides, and neither side
 * always runs right after the other.
 */
export async function alternate(rounds: number, sides: Sides): Promise<Comparison> {
  const davit: number[] = [];
  const floor: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const order = round % 2 === 0 ? (['davit', 'floor'] as const) : (['floor', 'davit'] as const);
    for (const side of order) (side === 'davit' ? davit : floor).push(await sides[side](round));
  }
  return { davit: toSeries(davit), floor: toSeries(floor), ratio: ratioOf(toSeries(davit), toSeries(floor)) };
}
