import { startTransition, useEffect, useState } from 'react';

/** Rows that are drawn at once: more than a screen has. */
const first = 30;
/** Rows that are drawn together afterwards: fewer than would keep a slow processor from a key for long. */
const most = 120;

/**
 * Returns how many of the rows of a table to draw: those of the first screen at once, the others while the page already
 * answers.
 */
export function useGrowing(rows: number): number {
  const [drawn, draw] = useState(first);
  useEffect(() => {
    if (drawn >= rows) return undefined;
    const timer = setTimeout(() => startTransition(() => draw(drawn + Math.min(drawn, most))));
    return () => clearTimeout(timer);
  }, [drawn, rows]);
  return Math.min(drawn, rows);
}
