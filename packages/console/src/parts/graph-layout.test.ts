import { expect, test } from 'vitest';
import { edgeOf, layoutOf, nodeAfter, nodeHeight, nodeWidth } from './graph-layout.ts';

const many = (count: number, name: string): string[] => Array.from({ length: count }, (_, index) => `${name} ${index}`);

test('stages stand side by side in their order; one with many services has several columns', () => {
  const { columns, stages, places, width, height } = layoutOf([['orders', 'cache'], ['migrate'], many(25, 'api')]);
  expect(columns.map(({ length }) => length)).toEqual([2, 1, 10, 10, 5]);
  expect(stages).toEqual([places.get('orders')?.x, places.get('migrate')?.x, places.get('api 0')?.x]);
  const all = [...places.values()];
  const overlaps = all.flatMap((one) =>
    all.filter((other) => one !== other && Math.abs(one.x - other.x) < nodeWidth && Math.abs(one.y - other.y) < nodeHeight),
  );
  expect(overlaps).toEqual([]);
  expect(Math.max(...all.map(({ x }) => x)) + nodeWidth).toBeLessThan(width);
  expect(Math.max(...all.map(({ y }) => y)) + nodeHeight).toBeLessThan(height);
  // Two hundred services stay a surface that somebody can look over.
  expect(layoutOf([many(200, 'api')]).columns).toHaveLength(10);
});

test('the arrow keys reach every service, and stop at the edges', () => {
  const layout = layoutOf([['orders', 'cache'], ['migrate'], ['api', 'web']]);
  const way = ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowDown', 'End', 'Home'];
  let at = 'orders';
  expect(way.map((key) => (at = nodeAfter(layout, at, key) ?? ''))).toEqual(['cache', 'migrate', 'api', 'web', 'web', 'orders']);
  expect(['ArrowLeft', 'ArrowUp', 'Enter', 'a'].map((key) => nodeAfter(layout, 'orders', key))).toEqual(Array(4).fill(undefined));
});

test('an arrow ends at the side of the service from which it comes', () => {
  const { places } = layoutOf([['orders', 'cache'], ['api']]);
  const at = (id: string) => places.get(id) ?? { x: 0, y: 0, column: 0, row: 0 };
  const right = at('orders').x + nodeWidth;
  const middle = at('orders').y + nodeHeight / 2;
  expect(edgeOf(at('api'), at('orders')).head).toMatch(new RegExp(`^M${right} ${middle}l6 `));
  expect(edgeOf(at('orders'), at('api')).head).toMatch(new RegExp(`^M${at('api').x} ${middle}l-6 `));
  expect(edgeOf(at('cache'), at('orders')).head).toMatch(new RegExp(`^M${right} ${middle}l6 `));
});

test('an arrow over other columns runs between their rows, not behind a service', () => {
  const { places } = layoutOf([
    ['orders', 'cache'],
    ['migrate', 'seed'],
    ['api', 'worker'],
  ]);
  const at = (id: string) => places.get(id) ?? { x: 0, y: 0, column: 0, row: 0 };
  for (const [from, to] of [
    ['api', 'orders'],
    ['worker', 'orders'],
    ['orders', 'worker'],
    ['api', 'cache'],
  ] as const) {
    const [, y = 0] = /L[\d.]+ ([\d.]+)/.exec(edgeOf(at(from), at(to)).line)?.map(Number) ?? [];
    const isBehind = ({ y: top }: { readonly y: number }): boolean => y >= top && y <= top + nodeHeight;
    expect([...places.values()].filter(isBehind)).toEqual([]);
    expect(y).toBeGreaterThan(0);
  }
});
