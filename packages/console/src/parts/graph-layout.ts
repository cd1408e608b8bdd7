/*
 * Where the nodes of a graph stand. Nothing is measured: all nodes have the same size, so that the positions are known
 * before anything is drawn, and a node never moves because another one changed.
 */

export const nodeWidth = 184;
export const nodeHeight = 50;
const rowGap = 16;
/** Pixels between two columns. */
const columnGap = 48;
const headHeight = 32;
/** Pixels around everything, for edges that leave the first and the last column, and for the ring of the focus. */
const margin = 24;
/** Nodes of one column: as many as a screen has. A stage with more gets further columns. */
const leastRows = 10;

export interface NodePosition {
  readonly x: number;
  readonly y: number;
  readonly column: number;
  readonly row: number;
}

export interface GraphLayout {
  readonly width: number;
  readonly height: number;
  /** The left edge of each stage. */
  readonly stages: readonly number[];
  /** The ids of the nodes, by columns. */
  readonly columns: readonly (readonly string[])[];
  readonly positions: ReadonlyMap<string, NodePosition>;
}

/** Arranges the stages side by side in their order, each with its nodes in one column, or in several for many. */
export function layoutOf(stages: readonly (readonly string[])[]): GraphLayout {
  const largest = Math.max(0, ...stages.map(({ length }) => length));
  const rows = Math.max(leastRows, Math.ceil(Math.sqrt(largest * 2)));
  const positions = new Map<string, NodePosition>();
  const columns: string[][] = [];
  const lefts: number[] = [];
  for (const ids of stages) {
    lefts.push(leftOf(columns.length));
    for (const [index, id] of ids.entries()) {
      const row = index % rows;
      if (row === 0) columns.push([]);
      columns.at(-1)?.push(id);
      const column = columns.length - 1;
      positions.set(id, { x: leftOf(column), y: margin + headHeight + row * (nodeHeight + rowGap), column, row });
    }
  }
  const highest = Math.max(0, ...columns.map(({ length }) => length));
  return {
    width: 2 * margin + columns.length * (nodeWidth + columnGap) - columnGap,
    height: 2 * margin + headHeight + highest * (nodeHeight + rowGap) - rowGap,
    stages: lefts,
    columns,
    positions,
  };
}

function leftOf(column: number): number {
  return margin + column * (nodeWidth + columnGap);
}

const moves: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

/** Returns the node to which a key leads from a node; undefined if the key means nothing here, or there is none. */
export function nodeAfter({ columns, positions }: GraphLayout, id: string, key: string): string | undefined {
  if (key === 'Home') return columns[0]?.[0];
  if (key === 'End') return columns.at(-1)?.at(-1);
  const move = moves[key];
  const from = positions.get(id);
  if (move === undefined || from === undefined) return undefined;
  const column = columns[from.column + move[0]];
  // A shorter column is entered at its last node.
  return move[1] === 0 ? (column?.[from.row] ?? column?.at(-1)) : column?.[from.row + move[1]];
}

const headLength = 6;
const headWidth = 3;

/**
 * Returns the drawing of an edge as the data of two SVG paths: its line, and the arrow at its end. An edge to a column
 * further left leaves at the left side, any other one at the right side; within a column it turns around on the right.
 * An edge over other columns runs between their rows, since behind a node it would look like two edges of that node.
 */
export function edgeOf(from: NodePosition, to: NodePosition): { readonly line: string; readonly head: string } {
  const isBack = to.column < from.column;
  const entersRight = to.column <= from.column;
  const [out, inward] = [isBack ? -1 : 1, entersRight ? -1 : 1];
  const start: Point = [isBack ? from.x : from.x + nodeWidth, middleOf(from)];
  const [endX, endY] = [entersRight ? to.x + nodeWidth : to.x, middleOf(to)];
  const tip: Point = [endX - inward * headLength, endY];
  const head = `M${endX} ${endY}l${-inward * headLength} ${-headWidth}v${2 * headWidth}z`;
  if (Math.abs(to.column - from.column) < 2) return { line: `M${start.join(' ')}${curve(start, out, tip, inward)}`, head };
  const between = endY + (from.row < to.row ? -1 : 1) * ((nodeHeight + rowGap) / 2);
  const [leaves, arrives]: [Point, Point] = [
    [start[0] + out * columnGap, between],
    [endX - inward * columnGap, between],
  ];
  const line = `M${start.join(' ')}${curve(start, out, leaves, out)}L${arrives.join(' ')}${curve(arrives, inward, tip, inward)}`;
  return { line, head };
}

type Point = readonly [x: number, y: number];

function middleOf({ y }: NodePosition): number {
  return y + nodeHeight / 2;
}

/** Returns a curve between two points that leaves and arrives horizontally: 1 is to the right, -1 to the left. */
function curve([fromX, fromY]: Point, out: number, [toX, toY]: Point, inward: number): string {
  const bend = columnGap / 2;
  return `C${fromX + out * bend} ${fromY} ${toX - inward * bend} ${toY} ${toX} ${toY}`;
}
